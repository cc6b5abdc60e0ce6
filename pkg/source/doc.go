// Package source names the repositories that a cluster reads through the hub. Such a cluster has no route to Git and no
// credential. The cluster's Argo CD reads each repository at the address of Towline's agent, and the agent asks
// towline-source on the hub: see docs/sources.md. The controller, the agent and towline-source use the same names.
package source
