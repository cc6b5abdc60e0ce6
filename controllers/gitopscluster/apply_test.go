package gitopscluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/fixture"
)

// kind identifies a write by the kind of the object.
func kind(obj client.Object) string {
	switch obj.(type) {
	case *v1beta1.GitOpsCluster:
		return "gitopscluster"
	case *corev1.Secret:
		return "secret"
	}
	return "generator"
}

// TestApply: the marks are released after all remaining writes. After an answer that the cache did not have, a new plan
// is made. A failed removal causes no event.
func TestApply(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	conflict, missing := apierrors.NewConflict(resource, "x", nil), apierrors.NewNotFound(resource, "x")
	exists, refused := apierrors.NewAlreadyExists(resource, "x"), apierrors.NewForbidden(resource, "x", errors.New("quota"))
	s, config := &corev1.Secret{}, &corev1.ConfigMap{}
	s.Namespace, s.Name, s.UID, s.ResourceVersion = "argocd", "a-cluster-secret", "uid", "7"
	imported := clusterimport.Step{Verb: clusterimport.Create, Object: s, Cluster: "a"}
	updated := clusterimport.Step{Verb: clusterimport.Update, Was: s, Object: s.DeepCopy(), Cluster: "a"}
	removed := clusterimport.Step{Verb: clusterimport.Delete, Was: s, Cluster: "a", Removal: true, Frees: true}
	prepared := clusterimport.Step{Verb: clusterimport.Create, Object: config}
	for title, tc := range map[string]struct {
		step     clusterimport.Step
		answer   error
		want     loop.Outcome
		fails    bool
		told     string
		unmarked bool
	}{
		"made":                       {step: imported, told: "made 1 cluster known"},
		"there already":              {step: imported, answer: exists, want: loop.FactsChanged, unmarked: true},
		"refused":                    {step: imported, answer: refused, want: loop.FactsChanged, unmarked: true},
		"brought up to date":         {step: updated},
		"changed meanwhile":          {step: updated, answer: conflict, want: loop.Conflict, unmarked: true},
		"gone meanwhile":             {step: updated, answer: missing, want: loop.Conflict, unmarked: true},
		"removed":                    {step: removed, told: "removed 1 cluster: a"},
		"removed meanwhile":          {step: removed, answer: missing, told: "removed 1 cluster: a"},
		"changed before its end":     {step: removed, answer: conflict, want: loop.Conflict, unmarked: true},
		"not to be removed":          {step: removed, answer: refused, fails: true, unmarked: true},
		"a failure":                  {step: imported, answer: errors.New("no"), fails: true, unmarked: true},
		"the generator's":            {step: prepared},
		"the generator's, and there": {step: prepared, answer: exists, want: loop.Conflict, unmarked: true},
		"the generator's, refused":   {step: prepared, answer: refused, fails: true, unmarked: true},
	} {
		t.Run(title, func(t *testing.T) {
			server, recorder := &fixture.Hub{Name: kind, Answers: map[string]error{"secret": tc.answer, "generator": tc.answer}}, events.NewFakeRecorder(10)
			r := &Reconciler{Client: server, Live: live{&fakeHub{t: t}}, Events: recorder}
			seen := &observation{}
			seen.GitOpsCluster = &v1beta1.GitOpsCluster{}
			seen.GitOpsCluster.Spec.ArgoServer.ArgoNamespace = "argocd"
			plan := &clusterimport.Plan{Stages: [][]clusterimport.Step{{tc.step}}, Release: &clusterimport.Marks{}}
			got, err := r.apply(t.Context(), seen, plan)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %d, %v", got, err)
			}
			if slices.Contains(server.Written, "gitopscluster") == tc.unmarked {
				t.Errorf("written: %v", server.Written)
			}
			told := ""
			if len(recorder.Events) > 0 {
				told = <-recorder.Events
			}
			if (told == "") != (tc.told == "") || !strings.Contains(told, tc.told) {
				t.Errorf("told: %q", told)
			}
		})
	}
}

// TestClaimComesFirst: the GitOpsCluster is marked before any further write.
func TestClaimComesFirst(t *testing.T) {
	hub := &fixture.Hub{Name: kind, Answers: map[string]error{}}
	r, seen := &Reconciler{Client: hub}, &observation{}
	seen.GitOpsCluster = &v1beta1.GitOpsCluster{}
	plan := &clusterimport.Plan{Claim: &clusterimport.Marks{Finalizer: true, Namespaces: []string{"argocd"}}}
	if got, err := r.apply(t.Context(), seen, plan); got != loop.FactsChanged || err != nil || !clusterimport.Marked(seen.GitOpsCluster).Finalizer {
		t.Errorf("got %d, %v, and %v", got, err, seen.GitOpsCluster)
	}
	hub.Answers["gitopscluster"] = apierrors.NewConflict(schema.GroupResource{}, "x", nil)
	if got, err := r.apply(t.Context(), seen, plan); got != loop.Conflict || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
