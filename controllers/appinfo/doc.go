// Package appinfo serves Argo CD's own metric argocd_app_info for Applications for pull, where --argocd-app-info asks for it, so
// that dashboards and alerts made for Argo CD go on. It reads the cache, and writes nothing. Of several replicas the one that leads
// serves it: an Application is counted once. See pkg/appinfo for what it says.
package appinfo
