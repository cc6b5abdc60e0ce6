// Package relay decides how a request that someone makes on a hub Application reaches the cluster: an operation
// (sync) exactly once, a refresh at least once. It is pure; the propagation controller does what it says. Nothing
// depends on what the process remembers: it may be restarted between any two steps.
//
// An operation is first given an identity, as an entry of its info list, on the hub Application; Argo CD keeps
// that list in status.operationState, from where it comes back as feedback. Then it goes into the payload of the
// ManifestWork. The work agent applies a payload once for each change of it, so as long as the operation waits or
// runs on the cluster the payload is held as it is: another change would apply it again, and taking it out would
// stop it (Argo CD 2.14 works on an operation only while the field is there, and clears it at the end). When the
// cluster reports that it took the operation of that identity, it is cleared on the hub; when it has ended, it is
// taken out of the payload.
//
// A refresh is an annotation on both sides. The work remembers when it was sent and when the cluster had last
// compared by then; the hub's annotation goes when the cluster has compared since, or after a deadline.
package relay
