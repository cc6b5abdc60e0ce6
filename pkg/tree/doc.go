// Package tree makes the entry of Argo CD's cache from which argocd-server answers what an Application consists of:
// `argocd app resources`, and the tree in its UI. On a hub nobody else writes it for Applications for pull, as the
// Argo CD that deploys them is on their cluster.
//
// The Application's destination mostly is its own cluster, which to the hub's argocd-server is the hub. A user who opens,
// deletes or patches a resource of the tree would do so with the hub's resource of that name, and which names there are
// is for a cluster to say. So argocd-server must refuse all that, unless Path.Live says that it can reach the cluster itself:
//
//   - argocd-server looks for the first node with the name that it is asked for, and refuses one without a UID. So each
//     resource has two nodes. The first has no UID. It has a parent, so that the CLI does not list it.
//   - The second node has a UID, of which the CLI makes its tree. The UID is made of the resource's name: it is nobody's
//     on the hub. The version is one that no API has. That alone would not do, as a user may ask for another version.
//   - A Pod has one node, without a UID: argocd-server shows the logs of every Pod that has one.
//
// argocd-server looks for events by UID, name and namespace, not by kind. A node without a UID answers a request without one:
// argocd-server then lists events that name no UID. So nodes without a UID stand only for reported resources, and a tree for which
// Path.Live holds has no such nodes.
//
// With Path.Live, each resource has one node with a UID, Pods too. The UID is made of the name here as well: argocd-server needs
// it to find the node, and asks the cluster by kind and name. Only events are looked up by UID, and so there are none.
//
// Where the cluster's agent reports the live resources that its own Argo CD knows, nodes have the UIDs of the cluster, and what the
// resources in Git have made has nodes too, each with one parent. Decode reads them from an entry of that Argo CD.
//
// Keys and format are those of Argo CD 2.14 and 3.5 (util/cache, util/cache/appstate). It is pure; controllers/resourcetree
// writes the entries, controllers/agent reads those of its cluster.
package tree
