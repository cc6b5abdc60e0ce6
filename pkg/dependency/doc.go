// Package dependency renders the dependencies of an Application: the AppProject, the credentials of the repositories,
// and the Secrets and ConfigMaps in the annotation. Each dependency travels in its own ManifestWork. The package
// computes the name of the ManifestWork. A dependency work never overwrites foreign objects on the cluster.
//
// Decide is a pure function from observed facts to a plan for a dependency work. Gates is the table of all reasons to
// wait.
//
// The package has no client and no clock. Decide and the rendering functions change no argument. No error or message
// of the package holds a value of a Secret. controllers/dependencies calls Decide.
package dependency
