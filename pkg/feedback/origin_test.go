package feedback_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
)

// TestOrigin checks that an Application is recognized by the work that brought the Application, unless a work agent
// owns the Application or the owner is unknown.
func TestOrigin(t *testing.T) {
	id := workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "guestbook"}
	fresh := func() *fixture.FeedbackBuilder { return fixture.Feedback(id).String("brought", "guestbook-1") }
	unread := fresh().Condition("StatusFeedbackSynced", metav1.ConditionFalse, "broughtOwner: no such path")
	for title, tc := range map[string]struct {
		status workv1.ManifestWorkStatus
		want   string
	}{
		"brought":                         {fresh().Obj(), "guestbook-1"},
		"brought, and owned":              {fresh().String("broughtOwner", "hub-guestbook-1").Obj(), ""},
		"brought, its owner unread":       {unread.Obj(), ""},
		"by hand":                         {fixture.Feedback(id).Obj(), ""},
		"its mark is no text":             {fixture.Feedback(id).Integer("brought", 1).Obj(), ""},
		"its owner is no text":            {fresh().Integer("broughtOwner", 1).Obj(), ""},
		"nothing is said":                 {workv1.ManifestWorkStatus{}, ""},
		"of a resource that is not known": {fixture.Feedback(id).Unmapped().String("brought", "guestbook-1").Obj(), ""},
	} {
		if got := feedback.Origin(&tc.status, id); got != tc.want {
			t.Errorf("%s: %q", title, got)
		}
	}
}
