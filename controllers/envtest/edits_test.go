package envtest_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/work"
)

// owned returns two numbers of fields of an Application: the fields that the work agent owns according to the API
// server, and the number in the annotation of the work.
func owned(t *testing.T, app *unstructured.Unstructured) (owns, sets int) {
	t.Helper()
	sets, err := strconv.Atoi(app.GetAnnotations()[apis.AnnotationFields])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range app.GetManagedFields() {
		if m.Manager == workv1.DefaultFieldManager && m.Operation == metav1.ManagedFieldsOperationApply {
			owns = strings.Count(string(m.FieldsV1.GetRawBytes()), "{}") - strings.Count(string(m.FieldsV1.GetRawBytes()), `".":{}`)
		}
	}
	return owns, sets
}

// TestFieldsOfAWork: for an applied payload, the API server counts as many fields as the payload's annotation. Each
// field that a user changes or removes reduces the count by 1. An added field does not change the count.
func TestFieldsOfAWork(t *testing.T) {
	const head = `{"project":"default","destination":{"namespace":"demo"},`
	for title, tc := range map[string]struct {
		spec     string
		requests work.Requests
	}{
		"a directory": {spec: `"source":{"repoURL":"https://git.example/a","path":"a","targetRevision":"main"}}`},
		"a chart": {spec: `"source":{"repoURL":"https://git.example/a","chart":"c","targetRevision":"1.0.0","helm":{"releaseName":"r",` +
			`"parameters":[{"name":"a","value":"b"}],"valuesObject":{"a":{"b":[1,{"c":2}],"d":"{}x","e":{},"f":[]},"g":true,"h":null}}}}`},
		"options": {spec: `"source":{"repoURL":"https://git.example/a","path":"a","kustomize":{"images":["a=b"],"commonLabels":{"a":"b","c":"d"}}},` +
			`"syncPolicy":{"automated":{},"syncOptions":["CreateNamespace=true"],"retry":{"limit":3,"backoff":{"duration":"5s"}},` +
			`"managedNamespaceMetadata":{"labels":{"a":"b"}}},"ignoreDifferences":[{"kind":"Deployment","jsonPointers":["/spec"]}],` +
			`"info":[{"name":"a","value":"b"}],"revisionHistoryLimit":3}`},
		"sources": {spec: `"sources":[{"repoURL":"https://git.example/a","path":"a"},{"repoURL":"https://git.example/b","ref":"v"}]}`},
		"a refresh": {spec: `"source":{"repoURL":"https://git.example/a","path":"a"}}`,
			requests: work.Requests{Stored: relay.Stored{Refresh: relay.Refresh{Kind: "hard", ID: "one"}}}},
	} {
		t.Run(title, func(t *testing.T) {
			there := namespace(t, unique("fields"))
			app := fixture.Application("app").Namespace(there).Finalizers(apis.FinalizerResources).Label("team", "a").
				Spec(head + tc.spec).Obj()
			w, err := work.Render(app, tc.requests)
			if err != nil {
				t.Fatal(err)
			}
			manifest := &unstructured.Unstructured{}
			if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &manifest.Object); err != nil {
				t.Fatal(err)
			}
			err = k8s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(manifest), client.ForceOwnership,
				client.FieldOwner(workv1.DefaultFieldManager))
			if err != nil {
				t.Fatal(err)
			}
			less := 0
			for _, step := range []struct {
				patch string
				lost  int
			}{
				{`{}`, 0},
				{`{"metadata":{"labels":{"mine":"x"},"annotations":{"mine":"x"}}}`, 0},
				{`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":null}}}`, 0},
				{`{"spec":{"project":"other"}}`, 1},
				{`{"metadata":{"finalizers":null}}`, 1},
				{`{"metadata":{"labels":{"team":null}}}`, 1},
				{`{"spec":{"destination":{"namespace":null}}}`, 1},
			} {
				patch := client.RawPatch(types.MergePatchType, []byte(step.patch))
				if err := k8s.Patch(t.Context(), manifest, patch, client.FieldOwner("kubectl-edit")); err != nil {
					t.Fatal(err)
				}
				less += step.lost
				refresh := 0
				if _, asks := manifest.GetAnnotations()["argocd.argoproj.io/refresh"]; asks {
					refresh = 1
				}
				if owns, sets := owned(t, manifest); owns != sets-less+refresh {
					t.Errorf("after %s the agent owns %d fields, want %d less than %d:\n%s", step.patch, owns, less, sets, manifest.GetManagedFields())
				}
			}
		})
	}
}
