// Package towline puts Towline on a fleet the way its users do: it installs deploy/chart with Helm, or applies
// deploy/install.yaml, and example/hub to the hub and example/managed to the clusters, and runs `towline controller` with the
// arguments of its Deployment and the rights of its ServiceAccount, and no others. The end-to-end suite uses the chart, and the
// demo the manifest, which needs no Helm.
package towline
