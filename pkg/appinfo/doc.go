// Package appinfo tells of an Application what Argo CD's own metric argocd_app_info tells: the same labels, with the same values.
// On a hub nobody else does for Applications for pull, as the hub's own Argo CD leaves them alone. It is pure;
// controllers/appinfo serves the metric. A contract test compares both with Argo CD's code.
package appinfo
