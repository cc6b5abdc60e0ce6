// Package tree makes the entry of Argo CD's cache from which argocd-server answers what an Application consists of:
// `argocd app resources`, and the tree in its UI. On a hub nobody else writes it for Applications for pull, as the
// Argo CD that deploys them is on their cluster.
//
// The entry names resources, and gives none of them a UID, as Argo CD itself does with what is missing on the cluster.
// That is what keeps argocd-server from anything but showing them: the Application's destination is its own cluster,
// which to the hub's argocd-server is the hub. With a UID, a user who opens, deletes or patches a resource, or reads a
// pod's logs, would do so with the hub's resource of that name, and which names there are is for a cluster to say.
//
// Keys and format are those of Argo CD 2.14 (util/cache, util/cache/appstate). It is pure; controllers/resourcetree
// writes the entries.
package tree
