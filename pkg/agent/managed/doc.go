// Package managed runs in the agent, on a managed cluster. It sends the managed resources of the Applications from the
// hub to the hub: the entry of Argo CD's cache with the manifests in Git and the live manifests. argocd-server on the hub
// then shows the differences of the Applications.
//
// The agent reads an entry from the Redis of the cluster's Argo CD after each comparison, and after each announcement of
// Argo CD. The agent sends an entry only if the entry has changed, and asks the hub to renew an unchanged entry before the
// hub's entry expires. A refresh that the hub asks for may mean that the hub has lost the entry, so the agent also renews
// the entry then. If the hub does not know the entry, the agent sends the entry again.
//
// The content goes to towline-source through the hub's API server, and not into etcd. The agent keeps no entry in memory.
//
// agent.Add is the only caller.
package managed
