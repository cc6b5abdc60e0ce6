package check

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// AddOnArgoCD is the name of Open Cluster Management's add-on for Argo CD, and of its AddOnTemplate.
const AddOnArgoCD = "argocd"

// orphanedByAddOn is Open Cluster Management's annotation on a manifest of an add-on: the cluster keeps the object when
// the add-on goes.
const orphanedByAddOn = "addon.open-cluster-management.io/deletion-orphan"

// ArgoAddOn is Open Cluster Management's add-on argocd on a hub.
type ArgoAddOn struct {
	// Deletes is the number of objects that each cluster loses with the add-on.
	Deletes int
}

// NewArgoAddOn reads the manifests of the AddOnTemplate argocd. The result is nil for a template without the CRD of
// Applications.
func NewArgoAddOn(manifests []any) *ArgoAddOn {
	out, brings := &ArgoAddOn{}, false
	for _, m := range manifests {
		object, _ := m.(map[string]any)
		u := unstructured.Unstructured{Object: object}
		brings = brings || u.GetKind() == "CustomResourceDefinition" && u.GetName() == "applications.argoproj.io"
		if _, stays := u.GetAnnotations()[orphanedByAddOn]; !stays {
			out.Deletes++
		}
	}
	if !brings {
		return nil
	}
	return out
}

// argoAddOn checks whether the end of the add-on argocd deletes Argo CD on clusters.
func argoAddOn(f *Facts) []Line {
	const name = "add-on argocd"
	if f.ArgoAddOn == nil {
		return nil
	}
	var on []string
	for _, c := range f.Clusters {
		if _, has := c.AddOns[AddOnArgoCD]; has {
			on = append(on, c.Name)
		}
	}
	switch {
	case len(on) == 0:
		return []Line{good(name, "no cluster has Open Cluster Management's add-on %s", AddOnArgoCD)}
	case f.ArgoAddOn.Deletes == 0:
		return []Line{good(name, "the clusters keep Argo CD and its CRDs when the add-on goes")}
	}
	return []Line{lesser(name, "keep the add-on and its chart argocd-pull-integration: see docs/takeover.md, The add-on argocd",
		"the add-on brings Argo CD and the CRD of Applications to %s: uninstalling the add-on deletes all Applications on these clusters", some(on))}
}
