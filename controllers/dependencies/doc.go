// Package dependencies sends the dependencies of Applications to the clusters: AppProjects, the credentials of
// repositories, and Secrets and ConfigMaps named by Applications. Each dependency has a separate ManifestWork. A
// reconcile handles one such work.
//
// A reconcile observes (observe*.go: all reads), lets package dependency decide (no reads, no writes), and applies the
// plan (apply.go: all writes). dependency.Decide and dependency.Gates alone say what happens to a work, and why
// something waits.
//
// Dependencies follow Applications. An Application without the right to a cluster brings no dependency to the cluster
// either. Credentials and objects are sent only once the Application has a work, and are removed after the end of the
// work. As long as the Application on a cluster may still use a dependency, the dependency stays as last sent. If an
// Application is released, its dependencies stay on the cluster. Propagation waits for the release of the dependencies
// before it deletes the Application's own work.
//
// The package writes the works of dependencies, and one condition type of hub Applications, DependencyError. The
// package requests a refresh of an Application after an arrival on the cluster before the AppProject or the
// credentials. It never overwrites a foreign object on a cluster, and never puts a value of a Secret into a log, an
// event, a condition or a metric.
//
// A plan with a removal from a cluster is made twice, the second time with facts from the API server instead of the
// cache. The plan is applied only if both plans are the same. Each deletion is bound to the UID and the version of the
// observed object.
package dependencies
