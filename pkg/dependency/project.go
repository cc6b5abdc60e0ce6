package dependency

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// fields is one level of a JSON object: what is not known here keeps its bytes.
type fields = map[string]json.RawMessage

// RenderProject is the work that carries an AppProject to a cluster, into the namespace of the Argo CD there. What the
// project says of clusters is said of this one there, as the one that its Argo CD runs on; what is about other clusters
// is left out. It stays on the cluster when the work goes: Applications that the hub does not know may use it.
//
// The Applications of the project that deploy to another cluster keep that: reaches are those clusters.
func RenderProject(p *argocd.AppProject, c authorization.Cluster, namespace string, reaches ...Reach) (*workv1.ManifestWork, error) {
	spec, err := clusterSpec(p, c, reaches)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return renderProject(ProjectKey(c.Name, p.Name), fields{
		"apiVersion": quote(argocd.GroupVersion.String()), "kind": quote("AppProject"), "spec": spec,
	}, metaFor(p, namespace, p.Name))
}

func renderProject(key types.NamespacedName, project fields, meta payloadMeta) (*workv1.ManifestWork, error) {
	raw, err := work.Marshal(meta)
	if err != nil {
		return nil, err
	}
	project["metadata"] = raw
	w, err := render(key, Project, object{
		resource: workv1.ResourceIdentifier{
			Group: argocd.GroupVersion.Group, Resource: "appprojects", Namespace: meta.Namespace, Name: meta.Name,
		},
		manager: fieldManager, manifest: project,
	})
	if err != nil {
		return nil, err
	}
	w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	return w, nil
}

// clusterSpec is a project's spec as it is to be on the cluster.
func clusterSpec(p *argocd.AppProject, c authorization.Cluster, reaches []Reach) (json.RawMessage, error) {
	raw, err := json.Marshal(p.Spec)
	if err != nil {
		return nil, err
	}
	var spec fields
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, err
	}
	if err := rewriteDestinations(p, c, reaches, spec); err != nil {
		return nil, fmt.Errorf("destinations: %w", err)
	}
	if err := rewriteList(spec, "destinationServiceAccounts", rewriteServiceAccount(c)); err != nil {
		return nil, err
	}
	if err := rewriteList(spec, "syncWindows", rewriteWindow(c)); err != nil {
		return nil, err
	}
	return work.Marshal(spec)
}

// rewriteList replaces a list by what rewrite makes of its items; nil drops one.
func rewriteList(spec fields, name string, rewrite func(fields) (fields, error)) error {
	var items []fields
	if raw, ok := spec[name]; !ok {
		return nil
	} else if err := json.Unmarshal(raw, &items); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	out := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		item, err := rewrite(item)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if item == nil {
			continue
		}
		raw, err := work.Marshal(item)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(out, func(have json.RawMessage) bool { return bytes.Equal(have, raw) }) {
			out = append(out, raw) // two names of this cluster have become one
		}
	}
	raw, err := work.Marshal(out)
	spec[name] = raw
	return err
}

// FinalProject is the last state of a project's work before it goes: what stays on the cluster is of use to the
// Applications of Argo CD's own namespace there, and no longer gives rights to other namespaces or to the roles of the
// hub's users, since the hub would not take them back any more. Its public keys go too. Where Applications were released that go
// on using it, the namespaces and the keys stay: the Applications may be in one of the namespaces. It is nil for a work that carries no project.
func FinalProject(w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	var project, spec fields
	var meta payloadMeta
	if len(w.Spec.Workload.Manifests) == 0 || json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &project) != nil ||
		json.Unmarshal(project["spec"], &spec) != nil || json.Unmarshal(project["metadata"], &meta) != nil {
		return nil, nil //nolint:nilerr,nilnil // documented
	}
	left := ReleasedTo(w)
	if len(left) == 0 {
		delete(spec, "sourceNamespaces")
	}
	delete(spec, "roles")
	raw, err := work.Marshal(spec)
	if err != nil {
		return nil, err
	}
	project["spec"] = raw
	out, err := renderProject(types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, project, meta)
	switch {
	case err != nil:
		return nil, err
	case len(left) > 0:
		keepKeys(out, w)
	default:
		err = addKeys(out, w, meta.Namespace, nil)
	}
	Release(out, left)
	if Forced(w) {
		Force(out)
	}
	return out, err
}

func quote(s string) json.RawMessage { return json.RawMessage(fmt.Sprintf("%q", s)) }

var inCluster = quote(apis.InClusterServer)

// text is a string field; empty when it is missing or something else.
func text(f fields, name string) string {
	var s string
	_ = json.Unmarshal(f[name], &s) // what is no string matches nothing
	return s
}
