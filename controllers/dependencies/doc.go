// Package dependencies brings to the clusters what Applications need there beside themselves: their AppProjects, the
// credentials of their repositories, and the Secrets and ConfigMaps that they name. Each travels in a ManifestWork of its
// own, and a reconcile looks at one of those.
//
// A reconcile observes (observe*.go: all reads), has package dependency decide (no reads, no writes), and applies the plan
// (apply.go: all writes). What becomes of a work, and why something waits, is to be read in dependency.Decide and
// dependency.Gates alone.
//
// Dependencies follow Applications. What an Application may not have, by the objects that authorize it, it pulls neither
// itself nor through a dependency; credentials and objects travel only once it has a work, and go when its work is gone.
// What the Application on a cluster may still be using stays, as it was sent last. Where an Application is released, what
// it uses is left to it on the cluster: propagation waits for that before it deletes the Application's own work.
//
// It writes those ManifestWorks, one condition type, DependencyError, on hub Applications, and requests a refresh of an
// Application that came to its cluster before its AppProject or its credentials. It never overwrites what somebody else has
// on a cluster, and no value of a Secret gets into a log, an event, a condition or a metric.
//
// A plan that takes something off a cluster is made twice, the second time from what the API server, not the cache, has, and
// is applied only if both come to the same; each deletion is bound to the UID and the version that were read.
package dependencies
