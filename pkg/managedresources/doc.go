// Package managedresources reads and writes the managed resources of an Application: the entry of Argo CD's cache with
// the manifests in Git and the live manifests. argocd-server reads the entry for the differences of an Application.
//
// The agent sends the entry of its cluster's Argo CD to towline-source on the hub, and towline-source writes the entry
// into the cache of the hub's Argo CD. Both pass the entry through Copy. Copy limits the size, drops unknown fields, and
// masks the data of Secrets. Argo CD has masked the data already, but neither the agent nor the hub relies on the mask.
//
// The format is the format of Argo CD 2.14 and 3.5 (ResourceDiff). The package is pure.
package managedresources
