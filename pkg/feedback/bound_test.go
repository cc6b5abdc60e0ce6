package feedback_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
)

// asking are the options of a work with the Application.
var asking = []workv1.ManifestConfigOption{{ResourceIdentifier: id}}

// megabyte is the text of a hostile cluster.
var megabyte = strings.Repeat("x", 1<<20)

func status(t *testing.T, edits ...func(*workv1.ManifestWorkStatus)) *workv1.ManifestWorkStatus {
	t.Helper()
	s := fixture.Feedback(id).Healthy("53e28ff").String("uid", "u").Integer("operationStateRetryCount", 2).
		Boolean("operationStateAutomated", true).String("conditionSyncError", "no").Obj()
	for _, edit := range edits {
		edit(&s)
	}
	return s.DeepCopy()
}

func bytesOf(t *testing.T, v any) int {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}

// manifestOf returns the report on a resource with the given name.
func manifestOf(name string, values ...workv1.FeedbackValue) workv1.ManifestCondition {
	m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{
		Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: name,
	}}
	m.StatusFeedbacks.Values = values
	return m
}

func text(name, s string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &s}}
}

// hostile are the possible contents of a work's status from a hostile cluster. Each is tens of times larger than the
// allowed remainder.
var hostile = map[string]func(*workv1.ManifestWorkStatus){
	"every value": func(s *workv1.ManifestWorkStatus) {
		var values []workv1.FeedbackValue
		for _, rule := range append(feedback.Rules(feedback.MaxSources), feedback.VolatileRule(), feedback.FinalizersRule()) {
			for _, path := range rule.JsonPaths {
				values = append(values, text(path.Name, megabyte[:100<<10]))
			}
		}
		s.ResourceStatus.Manifests[0].StatusFeedbacks.Values = values
	},
	"unknown names": func(s *workv1.ManifestWorkStatus) {
		for i := range 20_000 {
			values := &s.ResourceStatus.Manifests[0].StatusFeedbacks.Values
			*values = append(*values, text(fmt.Sprint("invented", i), megabyte[:50]))
		}
	},
	"long names": func(s *workv1.ManifestWorkStatus) {
		values := &s.ResourceStatus.Manifests[0].StatusFeedbacks.Values
		*values = append(*values, text(megabyte, "a"))
	},
	"the same value again and again": func(s *workv1.ManifestWorkStatus) {
		values := &s.ResourceStatus.Manifests[0].StatusFeedbacks.Values
		for range 20_000 {
			*values = append(*values, text("healthMessage", megabyte[:50]), text("conditionSyncError", "again"))
		}
	},
	"values beside their type": func(s *workv1.ManifestWorkStatus) {
		for i := range s.ResourceStatus.Manifests[0].StatusFeedbacks.Values {
			v := &s.ResourceStatus.Manifests[0].StatusFeedbacks.Values[i].Value
			v.JsonRaw = ptr.To(megabyte)
		}
	},
	"a type that is none": func(s *workv1.ManifestWorkStatus) {
		s.ResourceStatus.Manifests[0].StatusFeedbacks.Values[0].Value.Type = workv1.ValueType(megabyte)
	},
	"a list as JSON": func(s *workv1.ManifestWorkStatus) {
		s.ResourceStatus.Manifests[0].StatusFeedbacks.Values[0].Value =
			workv1.FieldValue{Type: workv1.JsonRaw, JsonRaw: ptr.To(`["Healthy","` + megabyte + `"]`)}
	},
	"other resources": func(s *workv1.ManifestWorkStatus) {
		var others []workv1.ManifestCondition
		for i := range 2000 {
			others = append(others, manifestOf(fmt.Sprint("other", i), text("healthStatus", "Healthy"), text("healthMessage", megabyte[:500])))
		}
		s.ResourceStatus.Manifests = append(others, s.ResourceStatus.Manifests...)
	},
	"the same resource again": func(s *workv1.ManifestWorkStatus) {
		for range 2000 {
			s.ResourceStatus.Manifests = append(s.ResourceStatus.Manifests, manifestOf(id.Name, text("healthStatus", "Degraded")))
		}
	},
	"a resource that cannot be": func(s *workv1.ManifestWorkStatus) {
		s.ResourceStatus.Manifests = append([]workv1.ManifestCondition{manifestOf(megabyte)}, s.ResourceStatus.Manifests...)
	},
	"conditions": func(s *workv1.ManifestWorkStatus) {
		var conditions []metav1.Condition
		for i := range 1000 {
			conditions = append(conditions, metav1.Condition{Type: fmt.Sprint("Invented", i), Message: megabyte[:32<<10]})
		}
		s.Conditions = append(conditions, s.Conditions...)
		m := &s.ResourceStatus.Manifests[0]
		m.Conditions = append(conditions, m.Conditions...)
	},
	"messages and reasons": func(s *workv1.ManifestWorkStatus) {
		for _, conditions := range [][]metav1.Condition{s.Conditions, s.ResourceStatus.Manifests[0].Conditions} {
			for i := range conditions {
				conditions[i].Status, conditions[i].Message, conditions[i].Reason = metav1.ConditionFalse, megabyte, megabyte
			}
		}
	},
}

// most is the maximum size of a bounded status, in bytes of JSON.
const most = 128 << 10

// TestBound checks that hostile statuses are reduced to the read parts, and that the read results stay the same.
func TestBound(t *testing.T) {
	for title, edit := range hostile {
		t.Run(title, func(t *testing.T) {
			whole, bounded := status(t, edit), status(t, edit)
			feedback.Bound(bounded, asking)
			if n := bytesOf(t, bounded); n > most {
				t.Errorf("%d bytes of %d are left", n, bytesOf(t, whole))
			}
			same(t, whole, bounded)
		})
	}
}

// same compares the read results of a bounded status with the results of the whole status.
func same(t *testing.T, whole, bounded *workv1.ManifestWorkStatus) {
	t.Helper()
	if diff := cmp.Diff(feedback.Parse(whole, id), feedback.Parse(bounded, id)); diff != "" {
		t.Errorf("the feedback says something else (-whole +bounded):\n%s", diff)
	}
	for _, mark := range []string{"1", ""} {
		left, known := feedback.RemainingFinalizers(whole, id, mark)
		if got, now := feedback.RemainingFinalizers(bounded, id, mark); !slices.Equal(got, left) || now != known {
			t.Errorf("finalizers that are left: %v, %t; want %v, %t", got, now, left, known)
		}
	}
	for _, conditionType := range []string{workv1.WorkApplied, workv1.WorkAvailable} {
		was, is := feedback.WorkCondition(whole, id, conditionType), feedback.WorkCondition(bounded, id, conditionType)
		if (was == nil) != (is == nil) || was != nil && (was.Status != is.Status || was.ObservedGeneration != is.ObservedGeneration ||
			feedback.Clean(was.Message, feedback.MaxMessage) != is.Message) {
			t.Errorf("condition %s: %.200v, want %.200v", conditionType, is, was)
		}
	}
	if (len(whole.Conditions) > 0) != (len(bounded.Conditions) > 0) {
		t.Error("an agent that has said something seems to have said nothing")
	}
}

// TestBoundLeavesAlone checks that Bound does not write to an agent's normal report. Objects of the cache share parts
// of the status.
func TestBoundLeavesAlone(t *testing.T) {
	s := status(t)
	conditions, manifests := s.Conditions, s.ResourceStatus.Manifests
	values := manifests[0].StatusFeedbacks.Values
	feedback.Bound(s, asking)
	if diff := cmp.Diff(status(t), s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now := s.ResourceStatus.Manifests
	if &s.Conditions[0] != &conditions[0] || &now[0] != &manifests[0] || &now[0].StatusFeedbacks.Values[0] != &values[0] {
		t.Error("a status within its bounds was copied")
	}
}

// TestBoundHoldsThePlaceBefore checks a work with a changed namespace: its agent still reports on the previous
// namespace.
func TestBoundHoldsThePlaceBefore(t *testing.T) {
	moved := id
	moved.Namespace = "elsewhere"
	s := status(t)
	feedback.Bound(s, []workv1.ManifestConfigOption{{ResourceIdentifier: moved}})
	same(t, status(t), s)
}

// FuzzBound checks statuses of a hostile agent.
func FuzzBound(f *testing.F) {
	for _, b := range []*fixture.FeedbackBuilder{
		fixture.Feedback(id).Healthy("53e28ff").Integer("operationStateRetryCount", 2).Boolean("operationStateAutomated", true),
		fixture.Feedback(id).Raw("healthMessage", `["a","b"]`).String("finalizersDropped", "1").String("finalizerLeft", "x"),
		fixture.Feedback(id).Condition("StatusFeedbackSynced", metav1.ConditionFalse, "Sync status feedback failed with error x"),
	} {
		data, err := json.Marshal(b.Obj())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := &workv1.ManifestWorkStatus{}
		if json.Unmarshal(data, whole) != nil {
			return
		}
		bounded := whole.DeepCopy()
		feedback.Bound(bounded, asking)
		if n := bytesOf(t, bounded); n > most {
			t.Errorf("%d bytes are left", n)
		}
		for i := range whole.ResourceStatus.Manifests { // the test compares the shown part of a message, without unusual characters
			clean(whole.ResourceStatus.Manifests[i].Conditions)
		}
		clean(whole.Conditions)
		// Bound drops impossible resources.
		whole.ResourceStatus.Manifests = slices.DeleteFunc(whole.ResourceStatus.Manifests, func(m workv1.ManifestCondition) bool {
			return max(len(m.ResourceMeta.Kind), len(m.ResourceMeta.Version)) > 253
		})
		for i := range bounded.ResourceStatus.Manifests {
			clean(bounded.ResourceStatus.Manifests[i].Conditions)
		}
		clean(bounded.Conditions)
		same(t, whole, bounded)
		again := bounded.DeepCopy()
		feedback.Bound(again, asking)
		if diff := cmp.Diff(bounded, again); diff != "" {
			t.Errorf("a second time it is cut again:\n%s", diff)
		}
	})
}

func clean(conditions []metav1.Condition) {
	for i := range conditions {
		if conditions[i].Type != "StatusFeedbackSynced" {
			conditions[i].Message = feedback.Clean(conditions[i].Message, feedback.MaxMessage)
		}
	}
}
