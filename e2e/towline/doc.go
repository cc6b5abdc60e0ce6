// Package towline installs Towline on a fleet as its users do. It installs deploy/chart with Helm, or applies
// deploy/install.yaml. It applies example/hub to the hub and example/managed to the clusters, and runs `towline
// controller` with only the arguments of its Deployment and the rights of its ServiceAccount. The end-to-end suite uses
// the chart. The demo uses the manifest, which needs no Helm.
package towline
