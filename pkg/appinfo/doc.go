// Package appinfo computes Argo CD's metric argocd_app_info for an Application: the same labels, with the same values.
// On a hub, no other program exports the metric for Applications for pull, because the hub's own Argo CD ignores these
// Applications. The package is pure: controllers/appinfo serves the metric. A contract test compares both with Argo
// CD's code.
package appinfo
