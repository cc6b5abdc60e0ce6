// Package controllers lists the controllers of Towline. Each controller has its own package, and each package is an
// arrow of the data flow:
//
//	gitopscluster  Placement        → Argo CD cluster Secret
//	decisions      PlacementDecision → a refresh of ApplicationSets
//	placement      PlacementDecision → the cluster of a hub Application
//	propagation    hub Application  → ManifestWork
//	dependencies   needs of Applications → ManifestWorks
//	status         ManifestWork     → hub Application
//	aggregation    ManifestWork     → MulticlusterApplicationSetReport
//	resourcetree   hub Application  → Argo CD's cache in Redis on the hub
//
// All controllers share a cache. The cache holds only Applications and works with the pull label, ManagedClusters, and
// the objects that package grants reads for the permissions on clusters. Secrets are not in the cache: see package
// gitopscluster.
package controllers
