// Package tree makes the entry of Argo CD's cache with an Application's resource tree. argocd-server reads this entry
// for `argocd app resources` and for the tree in the UI. On a hub, only Towline writes the entry for Applications for
// pull, because the Argo CD that deploys the Applications is on their cluster.
//
// The Application's destination is usually its own cluster, but for the hub's argocd-server the same destination is the
// hub. A user who opens, deletes or patches a resource of the tree would affect the hub's resource of the same name.
// The cluster chooses the names in the tree. Therefore argocd-server must refuse all these requests, except if Path.Live
// confirms the connection of argocd-server to the cluster itself:
//
//   - argocd-server takes the first node with the requested name, and refuses a node without a UID. Therefore each
//     resource has two nodes. The first node has no UID. It has a parent, and therefore the CLI does not list the node.
//   - The second node has a UID, for the CLI's tree. The UID is derived from the resource's name, and no object
//     on the hub has this UID. The version exists in no API. The version alone is not enough: a user may request a
//     different version.
//   - A Pod has one node, without a UID: argocd-server shows the logs of every Pod with a UID.
//
// argocd-server looks for events by UID, name and namespace, not by kind. A request without a UID matches a node
// without a UID, and argocd-server then lists all events without a UID. Therefore only reported resources have nodes
// without a UID, and a tree with Path.Live has no node without a UID.
//
// With Path.Live, each resource has one node with a UID, including Pods. The UID is also derived from the name:
// argocd-server needs the UID to find the node, and asks the cluster by kind and name. Only events use the UID, so
// argocd-server finds no events.
//
// If the cluster's agent reports the live resources of its own Argo CD, nodes have the UIDs of the cluster. Objects
// made by resources in Git then have nodes too, each with one parent. Decode reads these nodes from an entry of the
// cluster's Argo CD.
//
// Keys and format are those of Argo CD 2.14 and 3.5 (util/cache, util/cache/appstate). The package is pure:
// controllers/resourcetree writes the entries, and pkg/agent reads the entries of its cluster.
package tree
