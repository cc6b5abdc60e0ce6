// Package relay decides how a request on a hub Application reaches the cluster: an operation (sync) and its termination
// exactly once, a refresh at least once. Decide is a pure function from Facts to an Answer: package delivery asks, and
// carries out the answer. All state is in API objects, so the process may restart between any two steps.
//
// First, Towline adds an identity to the operation on the hub Application, as an entry of the operation's info list.
// Argo CD keeps the info list in status.operationState, and the identity comes back as feedback. Then the work carries
// a manifest with only the operation, instead of the Application. The work agent applies this manifest with a separate
// field manager. When the agent has answered, the work carries the Application again, with the first field manager. The
// first manager never owned the operation and therefore removes nothing. Therefore changes on the hub reach the cluster
// while the operation runs.
//
// The work agent applies a manifest once for each change. The manifest of an operation names one version of the
// cluster's Application, without a visible operation. If the Application has changed meanwhile, the cluster's API
// server refuses the manifest, and Towline sends the operation again for the new version. So an operation neither runs
// twice nor replaces a different operation. When the cluster reports an operation with the same identity, Towline
// removes the operation on the hub.
//
// A termination takes the same path. A refresh is an annotation on the hub and on the cluster. On the cluster, a second
// annotation has the identity of the refresh. Argo CD removes the refresh annotation when it writes the result of the
// comparison. The hub's annotation goes when the cluster's Application has the identity and no refresh, or after a
// deadline. The package reads no clock.
package relay
