package check

import "strings"

// OfTowline tells whether a workload is one of Towline's.
func (w *Workload) OfTowline() bool {
	return w.Labels["app.kubernetes.io/name"] == "towline" && !w.Stranger
}

// OfArgoCD tells whether a workload is one of an Argo CD.
func (w *Workload) OfArgoCD() bool {
	name := w.Labels["app.kubernetes.io/name"]
	return w.Labels["app.kubernetes.io/part-of"] == "argocd" || strings.HasPrefix(name, "argocd-") ||
		strings.HasSuffix(name, argoController) || strings.HasSuffix(name, argoSetController)
}

// OfPull tells whether a workload is another pull controller.
func (w *Workload) OfPull() bool { return w.ofAgent() || w.older() }

// ofAgent tells whether the workload is of argocd-agent, which runs beside: its principal, or the controller by which Open Cluster
// Management sets argocd-agent up.
func (w *Workload) ofAgent() bool {
	return strings.Contains(w.Name, "argocd-agent-principal") || w.Labels["app.kubernetes.io/name"] == "argocd-agent-principal" ||
		w.Labels["app.kubernetes.io/part-of"] == "argocd-agent-addon"
}

// older tells whether the workload writes the same ManifestWorks as Towline.
func (w *Workload) older() bool {
	return strings.HasPrefix(w.Name, "multicluster-integrations") || strings.HasPrefix(w.Name, "multicloud-integrations") || w.ofArgoAddOn()
}

// ofArgoAddOn tells whether the workload is the pull controller of Open Cluster Management's add-on argocd.
func (w *Workload) ofArgoAddOn() bool {
	return strings.Contains(w.Name, "argocd-pull-integration") && !w.ofAgent()
}
