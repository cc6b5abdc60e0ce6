// Package towline puts Towline on a fleet the way its users do: it applies deploy/ and example/hub to the hub and
// example/managed to the clusters, and runs `towline controller` with the arguments of its Deployment and the
// rights of its ServiceAccount, and no others. The demo and the end-to-end suite use it.
package towline
