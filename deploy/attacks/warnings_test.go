package attacks_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
)

// warningLog records the warnings in the answers of an API server.
type warningLog struct {
	sync.Mutex

	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (h *warningLog) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	h.Lock()
	defer h.Unlock()
	h.texts = append(h.texts, text)
}

// take returns the warnings since the last call.
func (h *warningLog) take() []string {
	h.Lock()
	defer h.Unlock()
	out := h.texts
	h.texts = nil
	return out
}

// TestMissingPullLabelIsWarned: the API server warns about an Application or a template meant for Towline without the
// pull label, because no controller would deliver the Application. All further requests cause no warning. Each request
// succeeds.
func TestMissingPullLabelIsWarned(t *testing.T) {
	h := startHub(t)
	create(t, h.admin, objects(t, "../admission/pull-label.yaml")...)
	warnings := &warningLog{}
	config := rest.CopyConfig(h.env.Config)
	config.WarningHandlerWithContext = warnings
	dry := client.NewDryRunClient(clientOf(t, config))

	pull := map[string]any{apis.LabelPull: "true"}
	asked := map[string]any{apis.AnnotationCluster: "c1", apis.AnnotationSkipReconcile: "true"}
	pushed := map[string]any{apis.AnnotationCluster: "c1"}
	misplaced := map[string]any{apis.AnnotationCluster: "c1", apis.AnnotationSkipReconcile: "true", apis.LabelPull: "true"}
	spec := map[string]any{
		"project": "default", "source": map[string]any{"repoURL": "https://git.example/x", "path": "x"},
		"destination": map[string]any{"namespace": "x"},
	}
	application := func(labels, annotations map[string]any) sending {
		return appKind.creates("default", "warned", map[string]any{"metadata": metadataOf(labels, annotations), "spec": spec})
	}
	set := func(labels, annotations map[string]any, more ...string) sending {
		inner := map[string]any{
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{}}}},
			"template":   map[string]any{"metadata": metadataOf(labels, annotations, "name", "x"), "spec": spec},
		}
		for _, field := range more {
			inner[field] = "metadata: {}"
		}
		return setKind.creates("default", "warned", map[string]any{"spec": inner})
	}
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		g.Expect(application(nil, misplaced)(t.Context(), dry)).To(Succeed())
		g.Expect(warnings.take()).NotTo(BeEmpty(), "the API server does not know the policy yet")
	}, soon, tick).Should(Succeed())
	for title, tc := range map[string]struct {
		try  sending
		says string
	}{
		"an Application with the key as an annotation":  {application(nil, misplaced), "has to be a label"},
		"an Application without the label":              {application(nil, asked), "is missing"},
		"an Application with the label":                 {application(pull, asked), ""},
		"an Application with both":                      {application(pull, misplaced), ""},
		"an Application that the hub's Argo CD deploys": {application(nil, pushed), ""},
		"an Application of somebody else":               {application(nil, nil), ""},
		"a template with the key as an annotation":      {set(nil, misplaced), "has to be a label"},
		"a template without the label":                  {set(nil, asked), "is missing"},
		"a template with the label":                     {set(pull, asked), ""},
		"a template that is patched":                    {set(nil, asked, "templatePatch"), ""},
		"a template of somebody else":                   {set(nil, nil), ""},
	} {
		t.Run(title, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tc.try(t.Context(), dry)).To(Succeed())
			said := warnings.take()
			if tc.says == "" {
				g.Expect(said).To(BeEmpty())
				return
			}
			g.Expect(said).To(HaveLen(1))
			g.Expect(said[0]).To(ContainSubstring(tc.says))
		})
	}
}

// metadataOf returns the metadata of an object or template: labels, annotations, and pairs of a key and a value.
func metadataOf(labels, annotations map[string]any, more ...string) map[string]any {
	out := map[string]any{}
	if labels != nil {
		out["labels"] = runtime.DeepCopyJSON(labels)
	}
	if annotations != nil {
		out["annotations"] = runtime.DeepCopyJSON(annotations)
	}
	for pair := range slices.Chunk(more, 2) {
		out[pair[0]] = pair[1]
	}
	return out
}

// warns tells whether a file has an admission policy with a warning as the only action.
func warns(t *testing.T, file string) bool {
	t.Helper()
	for _, u := range objects(t, file) {
		spec, _ := u.Object["spec"].(map[string]any)
		if actions, _ := spec["validationActions"].([]any); len(actions) == 1 && actions[0] == "Warn" {
			return true
		}
	}
	return false
}
