// Package appinfo serves Argo CD's own metric argocd_app_info for Applications for pull, if --argocd-app-info is set.
// Dashboards and alerts for Argo CD then continue to work. The package reads the cache, and writes nothing. Only the
// leader serves the metric, to count each Application once. Package pkg/appinfo computes the metric.
package appinfo
