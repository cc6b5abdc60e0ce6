// Package dependencies sends to the clusters what Applications need there: their AppProjects, the credentials of their
// repositories, and the Secrets and ConfigMaps that they name. Each has a ManifestWork of its own, and a reconcile handles one of
// these.
//
// A reconcile observes (observe*.go: all reads), lets package dependency decide (no reads, no writes), and applies the plan
// (apply.go: all writes). dependency.Decide and dependency.Gates alone say what happens to a work, and why something waits.
//
// Dependencies follow Applications. An Application that is not permitted on a cluster brings no dependency there either.
// Credentials and objects are sent only once the Application has a work, and are removed when its work is gone. What the
// Application on a cluster may still use stays as it was sent last. If an Application is released, its dependencies stay on the
// cluster: propagation waits for that before it deletes the Application's own work.
//
// It writes those ManifestWorks and one condition type of hub Applications, DependencyError. It requests a refresh of an
// Application that arrived on its cluster before its AppProject or its credentials. It never overwrites what somebody else has on
// a cluster, and never puts a value of a Secret into a log, an event, a condition or a metric.
//
// A plan that removes something from a cluster is made twice, the second time with facts from the API server instead of the
// cache, and is applied only if both plans are the same. Each deletion is bound to the UID and the version that were read.
package dependencies
