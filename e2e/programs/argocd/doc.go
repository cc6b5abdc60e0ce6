// Package argocd pins the Argo CD that the fleet runs, and holds Towline to it: its tests read what Towline writes
// with Argo CD's own types, and compare the names that Towline uses with Argo CD's constants. They read the golden
// files of the root module, so that neither module needs the other.
package argocd
