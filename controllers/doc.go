// Package controllers lists the controllers of Towline. Each controller has its own package, and each package is an
// arrow of the data flow:
//
//	gitopscluster  Placement, ManagedCluster → cluster Secret of Argo CD
//	decisions      PlacementDecision         → refresh of an ApplicationSet
//	placement      PlacementDecision         → cluster of an Application
//	propagation    Application               → ManifestWork
//	dependencies   needs of Applications     → ManifestWorks
//	status         ManifestWork              → status of an Application
//	resourcesync   feedback, reports, Search → inventory of the clusters
//	aggregation    inventory                 → MulticlusterApplicationSetReport
//	resourcetree   inventory                 → Argo CD's cache in Redis on the hub
//	appinfo        Application, ManifestWork → Argo CD's metric argocd_app_info
//
// All controllers share a cache. The cache holds only Applications and works with the pull label, ManagedClusters, and
// the objects that package grants reads for the permissions on clusters. Secrets are not in the cache: see package
// gitopscluster.
package controllers
