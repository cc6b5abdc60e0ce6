package dependency

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/work"
)

// namespace decides about the work of a namespace. The namespace arrives before the Applications, and always stays on
// the cluster. On a managed cluster that is the hub, Towline creates no namespace.
func (d *decision) namespace() Intent {
	needed := slices.ContainsFunc(d.Users, func(u User) bool { return d.Suffices(&u) })
	name := strings.TrimSuffix(d.Key.Name, "."+string(Namespace)+end)
	argocdNamespace := d.argocdNamespace(d.Options)
	switch {
	case !needed && (d.Work == nil || d.requireRequested()):
		return Keep
	case !needed:
		return Unused
	case !d.Namespaces, d.Cluster.Hub, name == argocdNamespace:
		return Orphan
	}
	d.carry(renderNamespace(d.Key.Namespace, name, argocdNamespace))
	return Carry
}

// renderNamespace returns the work that creates a namespace on a cluster, if the cluster lacks the namespace. The
// agent does not change an existing namespace, and deletes no namespace. By the label, OpenShift GitOps gives rights
// to the Argo CD in argocdNamespace.
func renderNamespace(cluster, name, argocdNamespace string) (*workv1.ManifestWork, error) {
	w, err := render(NamespaceKey(cluster, name), Namespace, object{
		resource: workv1.ResourceIdentifier{Resource: "namespaces", Name: name},
		manifest: map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": name, "labels": map[string]string{apis.LabelManagedBy: argocdNamespace}},
		},
	})
	if err != nil {
		return nil, err
	}
	w.Spec.ManifestConfigs[0].UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly}
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	return w, nil
}

// arrivals returns the namespaces on the cluster that the delivered project must list as source namespaces. The
// Applications there come from different namespaces of the hub.
func (f *Facts) arrivals(o Options) (out []string) {
	add := func(from, to string) {
		if f.sourceNamespaceMissing(o, from, to) {
			out = append(out, to)
		}
	}
	for i := range f.Users {
		if f.Users[i].Permitted {
			add(f.Users[i].App.Namespace, f.Users[i].App.ClusterNamespace())
		}
	}
	for _, w := range f.Works {
		hub, _ := work.HubApplication(w)
		for _, app := range f.carriedBy(w).apps {
			if app.spec.Project == f.Project.Name {
				add(hub.Namespace, app.key.Namespace)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sourceNamespaceMissing reports whether the project permits Applications in the hub namespace, but not in their
// namespace on the cluster.
func (f *Facts) sourceNamespaceMissing(o Options, from, to string) bool {
	return from != to && authorization.SourceNamespacePermitted(f.Project, from, o.ArgoCDNamespace) &&
		!authorization.SourceNamespacePermitted(f.Project, to, f.argocdNamespace(o))
}

// permitNamespaces lets an AppProject permit more namespaces of Applications.
func permitNamespaces(spec fields, more []string) (err error) {
	if len(more) == 0 {
		return nil
	}
	var have []string
	if listed, ok := spec["sourceNamespaces"]; ok {
		if err := json.Unmarshal(listed, &have); err != nil {
			return err
		}
	}
	spec["sourceNamespaces"], err = payload.Marshal(append(have, more...))
	return err
}

// permit lets the AppProject in a work permit more than the hub's AppProject, for the Applications of the cluster.
func (f *Facts) permit(w *workv1.ManifestWork, o Options) error {
	more := f.arrivals(o)
	through, fromServers := f.repositories()
	if len(more) == 0 && len(through) == 0 {
		return nil
	}
	var project, spec fields
	raw := &w.Spec.Workload.Manifests[0].Raw
	if err := json.Unmarshal(*raw, &project); err != nil {
		return err
	}
	if err := json.Unmarshal(project["spec"], &spec); err != nil {
		return err
	}
	if err := errors.Join(permitNamespaces(spec, more), through.permit(spec, fromServers)); err != nil {
		return err
	}
	var err error
	if project["spec"], err = payload.Marshal(spec); err != nil {
		return err
	}
	*raw, err = payload.Marshal(project)
	return err
}
