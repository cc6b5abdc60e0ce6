// Package authorization tells whether an Application may go where it asks to go, by objects that its author does not
// control: ManagedClusterSets say which clusters, AppProjects from which repository into which namespace, and
// Towline's own settings under which namespace's name.
//
// It is pure: who calls it has read the objects. What an AppProject permits is decided by Argo CD's own rules
// (v2.14); e2e/programs/argocd runs the table of this package's tests through Argo CD's functions, and
// e2e/programs/ocm the one about sets through Open Cluster Management's. The propagation controller calls it.
package authorization
