// Package controllers lists the controllers of Towline. Each has a package of its own, one for every arrow of the
// data flow:
//
//	gitopscluster  Placement        → Argo CD cluster Secret
//	decisions      PlacementDecision → ApplicationSets, which look again
//	placement      PlacementDecision → the cluster of a hub Application
//	propagation    hub Application  → ManifestWork
//	dependencies   what Applications need there → ManifestWorks
//	status         ManifestWork     → hub Application
//	aggregation    ManifestWork     → MulticlusterApplicationSetReport
//	resourcetree   hub Application  → Argo CD's cache on the hub, where its Redis is found
//
// All run over one cache, which holds only Applications and works with the pull label, ManagedClusters, and what package
// grants reads of who may use them. Secrets are not in it: see package gitopscluster.
package controllers
