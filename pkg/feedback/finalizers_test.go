package feedback_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/util/jsonpath"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// answer adds the values that the work agent (v1.2.0, statusfeedback) reads from an object with a rule.
func answer(t *testing.T, rule workv1.FeedbackRule, object map[string]any, into *fixture.FeedbackBuilder) {
	t.Helper()
	for _, p := range rule.JsonPaths {
		j := jsonpath.New(p.Name).AllowMissingKeys(true)
		if err := j.Parse("{" + p.Path + "}"); err != nil {
			t.Fatal(err)
		}
		found, err := j.FindResults(object)
		if err != nil {
			t.Fatalf("%s: %v", p.Path, err)
		}
		if len(found) > 0 && len(found[0]) > 0 {
			into.String(p.Name, found[0][0].Interface().(string))
		}
	}
}

// TestLeft checks that only the finalizers that delete deployed resources are returned, and only after the change that
// removed the other finalizers has arrived.
func TestLeft(t *testing.T) {
	const resources, mine = apis.FinalizerResources, "example.com/mine"
	for title, tc := range map[string]struct {
		metadata map[string]any
		want     []string
		known    bool
	}{
		"nothing":            {metadata: map[string]any{}},
		"an earlier change":  {metadata: marked("6")},
		"none":               {metadata: marked("7"), known: true},
		"of others":          {metadata: marked("7", mine, apis.FinalizerPostDelete, apis.FinalizerPostDelete+"/cleanup"), known: true},
		"unknown to Argo CD": {metadata: marked("7", resources+"/foregroundish"), known: true},
		"destructive":        {metadata: marked("7", mine, resources), known: true, want: []string{resources}},
		"destructive, forms": {metadata: marked("7", resources+"/foreground", resources+"/background"), known: true,
			want: []string{resources + "/background", resources + "/foreground"}},
		"before it has heard": {metadata: marked("", resources), want: []string{resources}},
	} {
		t.Run(title, func(t *testing.T) {
			id := work.Identifier(fixture.Application("guestbook").Obj())
			b := fixture.Feedback(id)
			answer(t, feedback.FinalizersRule(), map[string]any{"metadata": tc.metadata}, b)
			status := b.Obj()
			left, known := feedback.RemainingFinalizers(&status, id, "7")
			if diff := cmp.Diff(tc.want, left, cmpopts.EquateEmpty()); diff != "" || known != tc.known {
				t.Errorf("known: %t (-want +got):\n%s", known, diff)
			}
			if o := feedback.Parse(&status, id); len(o.Rejected) > 0 || !o.Complete {
				t.Errorf("it disturbs the rest: %+v", o)
			}
			id.Name = "other"
			if left, known := feedback.RemainingFinalizers(&status, id, "7"); known || left != nil {
				t.Error("it is told of another one")
			}
		})
	}
}

// TestLeftDoubts checks that any value counts as a finalizer, but only the exact mark as the mark.
func TestLeftDoubts(t *testing.T) {
	id := work.Identifier(fixture.Application("guestbook").Obj())
	status := fixture.Feedback(id).Integer("finalizersDropped", 7).Raw("finalizerLeft", `[]`).Obj()
	if left, known := feedback.RemainingFinalizers(&status, id, "7"); known || len(left) != 1 {
		t.Errorf("%v, %t", left, known)
	}
}

// marked returns the metadata of an Application with a mark and finalizers.
func marked(mark string, finalizers ...any) map[string]any {
	meta := map[string]any{"finalizers": finalizers}
	if mark != "" {
		meta["annotations"] = map[string]any{apis.AnnotationFinalizersDropped: mark}
	}
	return meta
}

// TestOwner checks that the owner is returned unchanged, and that a missing owner counts only if the agent could look
// for the owner.
func TestOwner(t *testing.T) {
	owned := func(kinds ...string) map[string]any {
		var refs []any
		for i, kind := range kinds {
			refs = append(refs, map[string]any{"apiVersion": "work.open-cluster-management.io/v1", "kind": kind, "name": fmt.Sprint(kind, i)})
		}
		return map[string]any{"ownerReferences": refs}
	}
	for title, tc := range map[string]struct {
		metadata map[string]any
		want     string
	}{
		"nobody":          {map[string]any{}, ""},
		"something else":  {owned("ApplicationSet"), ""},
		"a work":          {owned("ApplicationSet", "AppliedManifestWork"), "AppliedManifestWork1"},
		"several of them": {owned("AppliedManifestWork", "AppliedManifestWork"), "AppliedManifestWork0"},
	} {
		id := work.Identifier(fixture.Application("guestbook").Obj())
		b := fixture.Feedback(id)
		answer(t, feedback.FinalizersRule(), map[string]any{"metadata": tc.metadata}, b)
		status := b.Obj()
		if got, known := feedback.Owner(&status, id); got != tc.want || !known {
			t.Errorf("%s: %q, known: %t", title, got, known)
		}
		status = b.Condition("StatusFeedbackSynced", "False", "failed to find value for workOwner with error: …").Obj()
		if _, known := feedback.Owner(&status, id); known {
			t.Errorf("%s: known though it could not be read", title)
		}
		status = fixture.Feedback(id).Unmapped().Obj()
		if _, known := feedback.Owner(&status, id); known || !feedback.Unmapped(&status, id) {
			t.Errorf("%s: a kind that the cluster does not know", title)
		}
	}
}
