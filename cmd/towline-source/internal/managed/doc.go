// Package managed writes the managed resources of pulled Applications into the Redis of the hub's Argo CD, for example
// for argocd app diff. The agents of the clusters send the content.
//
// An entry exists only while Towline delivers the Application to the cluster that sent the entry. A mark in Redis, beside
// each entry, names the cluster, the work and the content. So each replica of towline-source can judge and remove the
// entries of all replicas. Without a renewal by the agent, an entry ends after an hour, as with Argo CD.
//
// While an entry exists, argocd-server (3.5) also answers ServerSideDiff for the Application: a dry run of manifests from
// the user on the destination of the Application, without a look at the AppProject. The destination of a pulled
// Application is usually the address of the hub itself. A user who may only read the Application could then read objects
// of the hub: the fields of Argo CD's field manager, or the whole object for an Application with the compare option
// IncludeMutationWebhook=true. So entries exist only while argocd-server refuses the hub as a destination, unless an
// administrator states that argocd-server has no ServerSideDiff.
package managed
