// Package v1alpha1 holds the MulticlusterApplicationSetReport: what became of
// an ApplicationSet on all the clusters that its Applications were sent to, in
// one object on the hub.
//
// The package has types only. It never talks to an API server, and it decides
// nothing: the aggregation controller writes reports, people and dashboards
// read them.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1alpha1
