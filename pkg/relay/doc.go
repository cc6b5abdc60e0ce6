// Package relay decides how a request that someone makes on a hub Application reaches the cluster: an operation
// (sync) and its termination exactly once, a refresh at least once. It is pure; the propagation controller does what
// it says. Nothing depends on what the process remembers: it may be restarted between any two steps.
//
// An operation is first given an identity, as an entry of its info list, on the hub Application; Argo CD keeps
// that list in status.operationState, from where it comes back as feedback. Then the work carries, instead of the
// Application, a manifest that has the operation and nothing else, applied by a field manager of its own. As soon as
// the agent has answered, the work carries the Application again, by the first manager, which never had the operation
// and so takes nothing away: whatever changes on the hub goes out while the operation runs.
//
// The agent applies a manifest once for each change of it, and this one can be applied to one version of the
// cluster's Application only, one on which no operation was seen: if anything has changed since, the API server
// there refuses it, and it is sent again for the new version. So it neither runs twice nor drives out another.
// When the cluster reports that it took the operation of that identity, it is cleared on the hub.
//
// A termination goes the same way. A refresh is an annotation on both sides, with its identity in another one beside it on
// the cluster. Argo CD takes the first one off in the write that tells of the comparison. So the hub's annotation goes when
// the cluster's Application is read with that identity and without a refresh, or after a deadline. No clock is asked.
package relay
