package feedback_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestTextsAtTheirBounds checks that texts of the maximum length are accepted, and longer texts are refused.
func TestTextsAtTheirBounds(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for title, got := range map[string]bool{
		"a word": feedback.IsWord(x(feedback.MaxWord)), "a revision": feedback.IsRevision(x(feedback.MaxRevision)),
		"a line with a space": feedback.IsLine("a b", 3),
		"no longer word":      !feedback.IsWord(x(feedback.MaxWord + 1)), "no revision with a space": !feedback.IsRevision("a b"),
		"nothing but UTF-8": !feedback.IsWord("a\xff"), "not nothing": !feedback.IsLine("", 3),
	} {
		if !got {
			t.Error(title)
		}
	}
	for text, want := range map[string]string{
		"1970-01-01T00:00:00Z": "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z": "",
		"2262-04-11T23:47:16Z": "2262-04-11T23:47:16Z", "2262-04-11T23:47:17Z": "",
		"2026-01-02T03:04:05.123456789+02:00": "2026-01-02T01:04:05Z", "2026-01-02T03:04:05.1234567890+02:00": "",
	} {
		if got, ok := feedback.Time(text); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t", text, got, ok)
		}
	}
	if got := feedback.Clean("ab      cdef", 6); got != "ab…" {
		t.Errorf("got %q", got)
	}
}

// TestValuesAtTheirBounds checks that only the field of the value's type counts, and that values of a wrong type or
// length are rejected.
func TestValuesAtTheirBounds(t *testing.T) {
	list := func(n int) workv1.FieldValue {
		return workv1.FieldValue{Type: workv1.JsonRaw, JsonRaw: ptr.To(`["` + strings.Repeat("x", n-4) + `"]`)}
	}
	raw := func(s string) workv1.FieldValue { return workv1.FieldValue{Type: workv1.JsonRaw, JsonRaw: &s} }
	flag := workv1.FieldValue{Type: workv1.Boolean, Boolean: ptr.To(true)}
	for title, tc := range map[string]struct {
		name  string
		value workv1.FieldValue
		taken bool
	}{
		"the longest list":           {"healthMessage", list(1024), true},
		"a longer list":              {"healthMessage", list(1025), false},
		"an empty list":              {"healthMessage", raw(`[]`), false},
		"a list that breaks off":     {"healthMessage", raw(`["a",1]`), false},
		"no list":                    {"healthMessage", workv1.FieldValue{Type: workv1.JsonRaw}, false},
		"a list of another type":     {"healthMessage", workv1.FieldValue{Type: workv1.Integer, JsonRaw: ptr.To(`["a"]`)}, false},
		"a flag for a message":       {"healthMessage", flag, false},
		"a flag for a condition":     {"conditionSyncError", flag, false},
		"a flag for a time":          {"reconciledAt", flag, false},
		"a flag for a revision":      {"syncRevisions0", flag, false},
		"a revision":                 {"syncRevisions0", workv1.FieldValue{Type: workv1.String, String: ptr.To("a")}, true},
		"no retries":                 {"operationStateRetryCount", workv1.FieldValue{Type: workv1.Integer, Integer: ptr.To(int64(0))}, true},
		"a number that is none":      {"operationStateRetryCount", workv1.FieldValue{Type: workv1.Integer}, false},
		"a number of another type":   {"operationStateRetryCount", workv1.FieldValue{Type: workv1.String, Integer: ptr.To(int64(1))}, false},
		"a flag of another type":     {"operationStateAutomated", workv1.FieldValue{Type: workv1.String, Boolean: ptr.To(true)}, false},
		"a flag as it should be one": {"operationStateAutomated", flag, true},
	} {
		got := parse(fixture.Feedback(id).Value(tc.name, tc.value))
		if (len(got.Rejected) == 0) != tc.taken {
			t.Errorf("%s: rejected %v", title, got.Rejected)
		}
	}
	two := parse(fixture.Feedback(id).String("syncStatus", "x").String("healthStatus", "x"))
	if !slices.Equal(two.Rejected, []string{"healthStatus", "syncStatus"}) {
		t.Errorf("not in order: %v", two.Rejected)
	}
}

// TestParseOfParts checks that incomplete parts, invalid in Argo CD's schema, are dropped and not completed.
func TestParseOfParts(t *testing.T) {
	if got := parse(fixture.Feedback(id).String("operationStateStartedAt", "2026-01-02T03:04:05Z")).Status.OperationState; got != nil {
		t.Errorf("an operation without a phase: %+v", got)
	}
	got := parse(fixture.Feedback(id).String("operationStateStartedAt", "2026-01-02T03:04:05Z").String("operationStatePhase", "Running"))
	if o := got.Status.OperationState; o == nil || o.SyncResult != nil || o.Operation.InitiatedBy != nil {
		t.Errorf("got %+v", o)
	}
	if got := parse(fixture.Feedback(id).String("degradedName", "ui")).Status.Resources; len(got) > 0 {
		t.Errorf("a resource without a kind: %+v", got)
	}
	if (&feedback.Observation{}).Empty() != true {
		t.Error("nothing is not empty")
	}
	for i, s := range []argocd.Status{
		{Health: argocd.Health{Status: "Healthy"}}, {Sync: &argocd.Sync{}}, {OperationState: &argocd.OperationState{}}, {ReconciledAt: "x"},
		{Conditions: []argocd.Condition{{}}},
	} {
		if (&feedback.Observation{Status: s}).Empty() {
			t.Errorf("status %d is empty", i)
		}
	}
	for i := range 4 {
		other := id
		*[]*string{&other.Group, &other.Resource, &other.Namespace, &other.Name}[i] = "other"
		s := fixture.Feedback(other).Healthy("a").Obj()
		if got := feedback.Manifest(&s, id); got != nil {
			t.Errorf("%+v is taken for %+v", other, id)
		}
	}
}

// TestSynced checks that a missing or oversized message of the agent makes the report incomplete.
func TestSynced(t *testing.T) {
	const begins, fresh = "Sync status feedback failed with error ", "failed to find value for syncRevisions2 with error: array index out of bounds"
	for n, complete := range map[int]bool{8 << 10: true, 8<<10 + 1: false} {
		message := begins + fresh + strings.Repeat(" ", n-len(begins+fresh))
		if got := parse(fixture.Feedback(id).Healthy("a").Condition(feedback.ConditionSynced, metav1.ConditionFalse, message)); got.Complete != complete {
			t.Errorf("%d bytes: %t", n, got.Complete)
		}
	}
	s := fixture.Feedback(id).Healthy("a").Obj()
	m := &s.ResourceStatus.Manifests[0]
	m.Conditions = slices.DeleteFunc(m.Conditions, func(c metav1.Condition) bool { return c.Type == feedback.ConditionSynced })
	if got := feedback.Parse(&s, id); got.Complete || !got.ReadAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	if _, known := feedback.Owner(&s, id); known {
		t.Error("the owner is known, and the agent has not said whether it could be read")
	}
}

// TestAnswers checks that an answer counts at any index, if its type is right and the agent could read the value.
func TestAnswers(t *testing.T) {
	s := &workv1.ManifestWorkStatus{}
	s.ResourceStatus.Manifests = []workv1.ManifestCondition{manifestOf(id.Name, text("workOwner", "w"))}
	m := &s.ResourceStatus.Manifests[0]
	synced := func(status metav1.ConditionStatus, message string) {
		m.Conditions = []metav1.Condition{{Type: feedback.ConditionSynced, Status: status, Message: message}}
	}
	for i, tc := range []struct {
		status  metav1.ConditionStatus
		message string
		known   bool
	}{{metav1.ConditionTrue, "workOwner", true}, {metav1.ConditionFalse, "workOwner", false}, {metav1.ConditionFalse, "another", true}} {
		synced(tc.status, tc.message)
		if name, known := feedback.Owner(s, id); known != tc.known || (name == "w") != known {
			t.Errorf("case %d: %q, %t", i, name, known)
		}
	}
	m.StatusFeedbacks.Values = []workv1.FeedbackValue{{Name: "finalizersDropped", Value: workv1.FieldValue{Type: workv1.Boolean, Boolean: ptr.To(true)}}}
	if _, known := feedback.RemainingFinalizers(s, id, ""); known {
		t.Error("a mark that is no text is the empty mark")
	}
	m.ResourceMeta.Resource, m.ResourceMeta.Kind = "", "Other"
	if feedback.Unmapped(s, id) {
		t.Error("another kind is taken for the Application")
	}
	refused := fixture.Feedback(id).Unmapped().Obj()
	refused.Conditions = nil
	if c := feedback.WorkCondition(&refused, id, workv1.WorkApplied); c == nil || c.Status != metav1.ConditionFalse || !feedback.Unmapped(&refused, id) {
		t.Errorf("got %+v", c)
	}
}

// TestVolatileNames checks that VolatileNames has the names of the rule, and that Text returns the values with these
// names.
func TestVolatileNames(t *testing.T) {
	var want []string
	for _, p := range feedback.VolatileRule().JsonPaths {
		want = append(want, p.Name)
	}
	if len(want) == 0 || !slices.Equal(feedback.VolatileNames, want) {
		t.Errorf("got %v, want %v", feedback.VolatileNames, want)
	}
	s := fixture.Feedback(id).String("a", "1").String("b", "2").Boolean("c", true).Obj()
	if got := feedback.Text(&s, "a", "c"); got != "a=1\n" {
		t.Errorf("got %q", got)
	}
}

// TestBoundAtItsBounds checks that values at their limit are unchanged, and that larger values are cut.
func TestBoundAtItsBounds(t *testing.T) {
	s := &workv1.ManifestWorkStatus{}
	for _, name := range []string{strings.Repeat("a", 254), strings.Repeat("a", 253), "b", "c", "d"} {
		s.ResourceStatus.Manifests = append(s.ResourceStatus.Manifests, manifestOf(name,
			text("invented", "x"), text("healthStatus", strings.Repeat("x", feedback.MaxWord))))
	}
	values := s.ResourceStatus.Manifests[1].StatusFeedbacks.Values
	values[0], values[1] = values[1],
		workv1.FeedbackValue{Name: "syncStatus", Value: workv1.FieldValue{Type: workv1.String}}
	before := values[0].Value.String
	long := strings.Repeat("m", feedback.MaxMessage-1) + "\x00"
	s.Conditions = []metav1.Condition{{Type: strings.Repeat("T", 300), Message: "first"}, {Type: "Other"}}
	s.ResourceStatus.Manifests[1].Conditions = []metav1.Condition{
		{Type: workv1.WorkApplied, Message: long, Reason: strings.Repeat("r", feedback.MaxWord)},
		{Type: workv1.WorkApplied, Message: "again"}, {Type: "Other"},
	}
	feedback.Bound(s, nil)
	if n := len(s.ResourceStatus.Manifests); n != 3 || len(s.ResourceStatus.Manifests[0].ResourceMeta.Name) != 253 {
		t.Fatalf("%d resources, the first of %d bytes", n, len(s.ResourceStatus.Manifests[0].ResourceMeta.Name))
	}
	m := s.ResourceStatus.Manifests[0]
	if len(m.Conditions) != 1 || m.Conditions[0].Message != long || len(m.Conditions[0].Reason) != feedback.MaxWord {
		t.Errorf("got %.100v", m.Conditions)
	}
	if got := m.StatusFeedbacks.Values; len(got) != 2 || got[0].Value.String != before || got[1].Value.String != nil {
		t.Errorf("got %.100v", got)
	}
	if got := s.ResourceStatus.Manifests[1].StatusFeedbacks.Values; len(got) != 1 || got[0].Name != "healthStatus" {
		t.Errorf("got %.100v", got)
	}
	if got := fmt.Sprintf("%d %d %s", len(s.Conditions), len(s.Conditions[0].Type), s.Conditions[0].Message); got != "1 257 first" {
		t.Errorf("got %s", got)
	}
}
