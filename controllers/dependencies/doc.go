// Package dependencies brings to the clusters what Applications need there beside themselves: their AppProjects, the
// credentials of their repositories, and the Secrets and ConfigMaps that they name. Each travels in a ManifestWork of
// its own (pkg/dependency), and a reconcile looks at one of those.
//
// Dependencies follow Applications. What an Application may not have, by the objects that authorize it, it pulls neither
// itself nor through a dependency; credentials and objects travel only once it has a work, and go when its work is gone.
// What the Application on a cluster may still be using stays, as it was sent last. Where an Application is let go of, what
// it uses is left to it on the cluster: propagation waits for that before it deletes the Application's own work.
//
// It writes those ManifestWorks, one condition type, DependencyError, on hub Applications, and asks for a refresh of an
// Application that came to its cluster before its AppProject or its credentials. It never overwrites what somebody else has on a cluster,
// and no value of a Secret gets into a log, an event, a condition or a metric.
package dependencies
