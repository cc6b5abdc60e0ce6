// Package v1alpha1 holds the MulticlusterApplicationSetReport: what became of
// an ApplicationSet on all the clusters that its Applications were sent to, in
// one object on the hub; and the ApplicationReport: what one Application looks
// like on its cluster.
//
// The package has types only. It never talks to an API server, and it decides
// nothing: the aggregation controller and the agents write reports, people,
// dashboards and the hub's controllers read them.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1alpha1
