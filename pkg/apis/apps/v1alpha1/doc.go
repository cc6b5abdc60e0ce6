// Package v1alpha1 holds the MulticlusterApplicationSetReport and the
// ApplicationReport. A MulticlusterApplicationSetReport is the state of an
// ApplicationSet on all clusters with Applications of the ApplicationSet, in a
// single object on the hub. An ApplicationReport is the state of a single
// Application on the Application's cluster.
//
// The package has types only, without connections to an API server and without
// decisions. The aggregation controller and the agents write reports. People,
// dashboards and the hub's controllers read reports.
//
// +kubebuilder:object:generate=true
// +groupName=apps.open-cluster-management.io
package v1alpha1
