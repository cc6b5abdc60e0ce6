package check

import "strings"

// OfTowline tells whether a workload is one of Towline's.
func (w *Workload) OfTowline() bool { return w.Labels["app.kubernetes.io/name"] == "towline" }

// OfArgoCD tells whether a workload is one of an Argo CD.
func (w *Workload) OfArgoCD() bool {
	name := w.Labels["app.kubernetes.io/name"]
	return w.Labels["app.kubernetes.io/part-of"] == "argocd" || strings.HasPrefix(name, "argocd-") ||
		strings.HasSuffix(name, argoController) || strings.HasSuffix(name, argoSetController)
}

// OfPull tells whether a workload is another pull controller.
func (w *Workload) OfPull() bool { return w.ofAgent() || w.older() }

// ofAgent tells whether it is of argocd-agent, which runs beside.
func (w *Workload) ofAgent() bool {
	return strings.Contains(w.Name, "argocd-agent-principal") || w.Labels["app.kubernetes.io/name"] == "argocd-agent-principal"
}

// older tells whether it is one that writes the same ManifestWorks.
func (w *Workload) older() bool {
	return strings.HasPrefix(w.Name, "multicluster-integrations") || strings.HasPrefix(w.Name, "multicloud-integrations") ||
		strings.Contains(w.Name, "argocd-pull-integration")
}
