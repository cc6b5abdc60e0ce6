// Package authorization decides whether an Application may go to the requested destination. The decision depends on
// objects outside the control of the Application's author. ManagedClusterSets give the clusters, AppProjects give the
// repositories and namespaces, and Towline's own settings give the namespace of the Application.
//
// The package is pure: the caller has read the objects. For AppProjects, the rules of Argo CD (v2.14) count. The
// programs in e2e/programs/argocd run the table of the tests through Argo CD's functions. The programs in
// e2e/programs/fleet/ocm run the table about sets through the functions of Open Cluster Management. The main caller is the
// propagation controller. pkg/dependency, the resource tree and kubectl towline use the rules too.
package authorization
