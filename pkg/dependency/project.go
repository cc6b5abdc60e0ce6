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
	"github.com/towline-io/towline/pkg/payload"
)

// fields is one level of a JSON object. Unknown fields keep their bytes.
type fields = map[string]json.RawMessage

// RenderProject returns the work of an AppProject for a cluster, in the namespace of the cluster's Argo CD. The
// project's rules for this cluster become rules for the in-cluster destination. Rules for other clusters are left
// out. The project stays on the cluster after the end of the work, because Applications unknown to the hub may use
// it.
//
// reaches are the clusters behind this cluster to which Applications of the project deploy. The rendered project
// keeps permitting them.
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
	raw, err := payload.Marshal(meta)
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

// clusterSpec returns the spec of a project for the cluster.
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
	return payload.Marshal(spec)
}

// rewriteList replaces each item of a list with the result of rewrite. A nil result drops the item.
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
		raw, err := payload.Marshal(item)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(out, func(have json.RawMessage) bool { return bytes.Equal(have, raw) }) {
			out = append(out, raw) // two names of this cluster may have become equal items
		}
	}
	raw, err := payload.Marshal(out)
	spec[name] = raw
	return err
}

// FinalProject returns the last state of a project's work before its deletion; nil for a work without a project. The
// project that stays on the cluster serves Applications in Argo CD's own namespace. FinalProject removes the rights
// of other namespaces and of the hub users' roles, because the hub could not revoke the rights later. The public keys
// go too. If released Applications use the project, the namespaces and the keys stay: the Applications may be in one
// of the namespaces.
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
	raw, err := payload.Marshal(spec)
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

// text returns a string field; empty if the field is missing or not a string.
func text(f fields, name string) string {
	var s string
	_ = json.Unmarshal(f[name], &s) // a non-string value matches no cluster
	return s
}
