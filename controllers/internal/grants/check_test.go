package grants_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
)

// fading is a hub with a ManagedClusterSet for every name, and an AppProject without limits. The
// ManagedClusterSetBindings are deleted after the first list, and the AppProject permits nothing after the first read.
type fading struct {
	client.Reader
	bindings []string
	read     bool
}

func (f *fading) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch obj := obj.(type) {
	case *clusterv1beta2.ManagedClusterSet:
		obj.Name = key.Name
		obj.Spec.ClusterSelector.SelectorType = clusterv1beta2.LabelSelector
		obj.Spec.ClusterSelector.LabelSelector = &metav1.LabelSelector{}
	case *argocd.AppProject:
		if obj.Name = key.Name; f.read {
			return nil
		}
		f.read = true
		obj.Spec.SourceNamespaces, obj.Spec.SourceRepos = []string{"*"}, []string{"*"}
		obj.Spec.Destinations = []argocd.ProjectDestination{{Server: "*", Namespace: "*"}}
	}
	return nil
}

func (f *fading) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	bindings, ok := list.(*clusterv1beta2.ManagedClusterSetBindingList)
	if !ok {
		return nil
	}
	for _, name := range f.bindings {
		b := clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
		b.Spec.ClusterSet = name
		bindings.Items = append(bindings.Items, b)
	}
	f.bindings = nil
	return nil
}

// TestRights: the refusals of the spec and of the requested operation, and the name of the granting
// ManagedClusterSetBinding, never contradict each other, also if the rights end during the check.
func TestRights(t *testing.T) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}
	app := fixture.Application("guestbook").Namespace("team").Cluster(cluster.Name).Operation(`{"sync":{"revision":"abc"}}`).Obj()
	request, err := authorization.ReadSpec(app)
	if err != nil {
		t.Fatal(err)
	}
	operation, err := authorization.Read(app)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		bindings []string
		before   string
		want     string
	}{
		"no binding":                              {},
		"one binding":                             {bindings: []string{"a"}, want: "a"},
		"the first of two bindings":               {bindings: []string{"b", "a"}, want: "a"},
		"the binding named before":                {bindings: []string{"a", "b"}, before: "b", want: "b"},
		"the binding named before does not exist": {bindings: []string{"a"}, before: "b", want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			checker := &grants.Checker{
				Reader: &fading{bindings: tc.bindings}, Unindexed: true, Clusters: grants.BindingOrPlacement, ArgoCDNamespace: "argocd",
			}
			rights, err := checker.Rights(t.Context(), app, request.Project, cluster, tc.before)
			if err != nil {
				t.Fatal(err)
			}
			if rights.GrantedBy != tc.want || (rights.Refusal(request) == nil) != (tc.want != "") || (rights.Refusal(operation) == nil) != (tc.want != "") {
				t.Errorf("got the rights %+v; want a grant by %q for the spec and the operation", rights, tc.want)
			}
		})
	}
}
