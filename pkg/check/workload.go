package check

import "strings"

// OfTowline returns whether a workload belongs to Towline.
func (w *Workload) OfTowline() bool {
	return w.Labels["app.kubernetes.io/name"] == "towline" && !w.Stranger
}

// OfArgoCD returns whether a workload belongs to an Argo CD.
func (w *Workload) OfArgoCD() bool {
	name := w.Labels["app.kubernetes.io/name"]
	return w.Labels["app.kubernetes.io/part-of"] == "argocd" || strings.HasPrefix(name, "argocd-") ||
		strings.HasSuffix(name, argoController) || strings.HasSuffix(name, argoSetController)
}

// atArgoCD returns whether a workload is in the namespace of Argo CD. Without a known namespace, each namespace counts.
func (f *Facts) atArgoCD(w Workload) bool { return f.Namespace == "" || w.Namespace == f.Namespace }

// olderHome is the namespace of the older controllers. Advanced Cluster Management runs in the same namespace.
const olderHome = "open-cluster-management"

// AtOlder returns whether a workload is in a namespace of older controllers. Elsewhere, tenants can create workloads with
// the same names.
func (f *Facts) AtOlder(w Workload) bool { return f.atArgoCD(w) || w.Namespace == olderHome }

// OfPull returns whether a workload is a pull controller of a different product.
func (w *Workload) OfPull() bool { return w.ofAgent() || w.older() }

// ofAgent returns whether the workload belongs to argocd-agent, which can run next to Towline: its principal, or Open
// Cluster Management's controller for the set-up of argocd-agent.
func (w *Workload) ofAgent() bool {
	return strings.Contains(w.Name, "argocd-agent-principal") || w.Labels["app.kubernetes.io/name"] == "argocd-agent-principal" ||
		w.Labels["app.kubernetes.io/part-of"] == "argocd-agent-addon"
}

// older returns whether the workload writes the same ManifestWorks as Towline.
func (w *Workload) older() bool {
	return strings.HasPrefix(w.Name, "multicluster-integrations") || strings.HasPrefix(w.Name, "multicloud-integrations") || w.ofArgoAddOn()
}

// ofArgoAddOn returns whether the workload is the pull controller of Open Cluster Management's add-on argocd.
func (w *Workload) ofArgoAddOn() bool {
	return strings.Contains(w.Name, "argocd-pull-integration") && !w.ofAgent()
}
