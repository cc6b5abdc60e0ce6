// Package appinfo serves Argo CD's own metric argocd_app_info for Applications for pull, if --argocd-app-info is set, so that
// dashboards and alerts for Argo CD go on working. It reads the cache, and writes nothing. Only the replica that leads serves the
// metric, so that each Application is counted once. Package pkg/appinfo computes it.
package appinfo
