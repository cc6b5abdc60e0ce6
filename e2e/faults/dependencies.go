package faults

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
)

var (
	secrets        = corev1.SchemeGroupVersion.WithKind("Secret")
	placements     = schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Kind: "Placement"}
	gitOpsClusters = schema.GroupVersionKind{Group: "apps.open-cluster-management.io", Version: "v1beta1", Kind: "GitOpsCluster"}
)

// Patches of an Application's dependencies.
const (
	propagated = `{"metadata":{"annotations":{"` + apis.AnnotationPropagate + `":"true"}}}`
	kept       = `{"metadata":{"annotations":{"` + apis.AnnotationPropagate + `":null}}}`
	with       = `{"metadata":{"annotations":{"` + apis.AnnotationWith + `":"configmap/POINT-settings=default/POINT-settings"}}}`
	without    = `{"metadata":{"annotations":{"` + apis.AnnotationWith + `":null}}}`
)

// dependencies are flows with the dependencies of an Application on its cluster.
func dependencies() []Flow {
	credential := steps(createProject(), makes(secrets, "POINT", `{
		"metadata": {"labels": {"argocd.argoproj.io/secret-type": "repository"}, "annotations": {"`+apis.AnnotationPropagate+`": "true"}},
		"stringData": {"type": "git", "url": "REPOSITORY", "project": "POINT", "username": "reader", "password": "first"}}`),
		create(`{"spec":{"project":"POINT"}}`, toSecond), shows(second), carries(second, secrets, "towline-POINT", "password", "first"),
		arrives(second, projects, "POINT"), remember(second))
	noCredential := lacks(second, secrets, "towline-POINT")
	settings := makes(workloads, "POINT-settings", `{"metadata":{"annotations":{"`+apis.AnnotationPropagate+`":"true"}},"data":{"say":"first"}}`)
	objects := steps(settings, create(with), shows(first), carries(first, workloads, "POINT-settings", "say", "first"), remember(first))
	noObjects := lacks(first, workloads, "POINT-settings")
	return []Flow{
		{Name: "credential", Steps: []Step{credential}},
		{Name: "credential-change", Steps: []Step{
			credential, edits(secrets, "POINT", `{"stringData":{"password":"second"}}`), carries(second, secrets, "towline-POINT", "password", "second"),
		}},
		{Name: "credential-withdraw", Steps: []Step{credential, edits(secrets, "POINT", kept), noCredential}},
		{Name: "credential-delete", Steps: []Step{credential, remove(), over, noCredential}},
		{Name: "credential-release", Steps: []Step{credential, patch(released), noWork(second)}},
		{Name: "objects", Steps: []Step{objects}},
		{Name: "objects-change", Steps: []Step{
			objects, edits(workloads, "POINT-settings", `{"data":{"say":"second"}}`), carries(first, workloads, "POINT-settings", "say", "second"),
		}},
		{Name: "objects-withdraw", Steps: []Step{objects, patch(without), noObjects}},
		{Name: "objects-delete", Steps: []Step{objects, remove(), over, noObjects, noWork(first)}},
		{Name: "objects-move", Steps: []Step{
			objects, patch(toSecond), shows(second), carries(second, workloads, "POINT-settings", "say", "first"),
			onCluster(first, "gone", gone), noObjects, noWork(first), noCondition(apis.ConditionMoveWarning),
		}},
		{Name: "objects-release", Steps: []Step{objects, patch(released), noWork(first)}},
	}
}

// found are flows with the cluster Secrets for ApplicationSets.
func found() []Flow {
	appeared := steps(imports(), finds(), appears(secrets, "POINT-cluster-secret"))
	lost := disappears(secrets, "POINT-cluster-secret")
	return []Flow{
		{Name: "gitopscluster", Steps: []Step{appeared}},
		{Name: "gitopscluster-narrowed", Slow: true, Steps: []Step{appeared, labels("other"), lost}},
		{Name: "gitopscluster-delete", Steps: []Step{appeared, deletes(gitOpsClusters, "POINT"), lost}},
		{Name: "gitopscluster-cluster-deleted", Slow: true, Steps: []Step{appeared, deletesCluster(), lost}},
	}
}

// finds creates a GitOpsCluster that imports the point's own cluster into the hub's Argo CD.
func finds(edits ...string) Step {
	return steps(makes(placements, "POINT", `{"spec": {
		"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": "POINT"}}}}]}}`),
		makes(gitOpsClusters, "POINT", slices.Concat([]string{`{"spec": {
		"argoServer": {"argoNamespace": "` + fleet.ArgoCDNamespace + `"},
		"placementRef": {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "POINT"}}}`}, edits)...),
		labels("POINT"))
}

// labels sets the label by which the point's Placement selects its cluster.
func labels(value string) Step {
	return edits(managedClusters, "POINT", `{"metadata":{"labels":{"name":"`+value+`"}}}`)
}

// makes creates an object on the hub from the texts. The default namespace is Argo CD's namespace; name may begin with
// a different namespace and a slash. POINT is the point's id in name and texts.
func makes(kind schema.GroupVersionKind, name string, texts ...string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		o, err := a.edited(a.named(kind, name), texts)
		if err != nil {
			return err
		}
		return a.world.hub.Create(ctx, o)
	})
}

// edits changes an object on the hub, and deletes deletes an object on the hub.
func edits(kind schema.GroupVersionKind, name, change string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		return a.world.hub.patch(ctx, a.named(kind, name), a.text(change))
	})
}

func deletes(kind schema.GroupVersionKind, name string) Step {
	return tries(func(ctx context.Context, a *actor) error { return a.world.hub.Delete(ctx, a.named(kind, name)) })
}

// named returns an object of the point on the hub.
func (a *actor) named(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	namespace, last, is := strings.Cut(name, "/")
	if !is {
		namespace, last = fleet.ArgoCDNamespace, name
	}
	if kind == managedClusters {
		namespace = ""
	}
	return object(kind, a.text(namespace), a.text(last))
}

// carries waits until an object on a cluster has a value, and lacks until the object does not exist.
func carries(cluster string, kind schema.GroupVersionKind, name, key, value string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		o, err := a.plane(cluster).look(ctx, kind, a.id, a.text(name))
		if err != nil {
			return err
		}
		if o == nil || data(o)[key] != value {
			return fmt.Errorf("%s %s of %s does not say %s: %s", kind.Kind, a.text(name), cluster, key, value)
		}
		return nil
	})
}

// arrives waits until a cluster has an object. Without the wait, a flow may end before the object arrives.
func arrives(cluster string, kind schema.GroupVersionKind, name string) Step {
	return eventually(func(ctx context.Context, a *actor) error { return a.present(ctx, a.plane(cluster), kind, name) })
}

func lacks(cluster string, kind schema.GroupVersionKind, name string) Step {
	return eventually(func(ctx context.Context, a *actor) error { return a.missing(ctx, a.plane(cluster), kind, name) })
}

// appears waits until an object exists on the hub, and disappears until the object does not exist.
func appears(kind schema.GroupVersionKind, name string) Step {
	return eventually(func(ctx context.Context, a *actor) error { return a.present(ctx, a.world.hub, kind, name) })
}

func disappears(kind schema.GroupVersionKind, name string) Step {
	return eventually(func(ctx context.Context, a *actor) error { return a.missing(ctx, a.world.hub, kind, name) })
}

// present returns an error while the object does not exist.
func (a *actor) present(ctx context.Context, on *plane, kind schema.GroupVersionKind, name string) error {
	o, err := on.look(ctx, kind, a.id, a.text(name))
	if err == nil && o == nil {
		return fmt.Errorf("%s has no %s %s", on.name, kind.Kind, a.text(name))
	}
	return err
}

// missing returns an error while the object exists.
func (a *actor) missing(ctx context.Context, on *plane, kind schema.GroupVersionKind, name string) error {
	o, err := on.look(ctx, kind, a.id, a.text(name))
	if err == nil && o != nil {
		return fmt.Errorf("%s has %s %s", on.name, kind.Kind, a.text(name))
	}
	return err
}

// look returns a point's object in any namespace, or nil if the object does not exist.
func (p *plane) look(ctx context.Context, kind schema.GroupVersionKind, id, name string) (*unstructured.Unstructured, error) {
	all, err := p.of(ctx, kind, id)
	for i := range all {
		if all[i].GetName() == name {
			return &all[i], err
		}
	}
	return nil, err
}

// data returns the data of a ConfigMap, or the decoded data of a Secret.
func data(o *unstructured.Unstructured) map[string]string {
	out, _, _ := unstructured.NestedStringMap(o.Object, "data")
	if o.GroupVersionKind() != secrets {
		return out
	}
	for key, value := range out {
		if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
			out[key] = string(plain)
		}
	}
	return out
}
