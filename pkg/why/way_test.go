package why_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/why"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// applied is a work of which the agent has applied that generation.
func applied(generation, seen int64, status metav1.ConditionStatus, message string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "guestbook-12345", Generation: generation}}
	w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: status, Message: message, ObservedGeneration: seen}}
	return w
}

// healthy is the status of an Application that runs.
func healthy() argocd.Status {
	return argocd.Status{Health: argocd.Health{Status: "Healthy"}, Sync: &argocd.Sync{Status: "Synced", Revision: "abc"}}
}

// good are the facts of an Application with nothing wrong.
func good(edits ...func(*why.Facts)) *why.Facts {
	f := &why.Facts{
		Now:     now,
		App:     fixture.Application("guestbook").Status(healthy()).Obj(),
		Plan:    &delivery.Plan{},
		Work:    applied(2, 2, metav1.ConditionTrue, ""),
		Managed: &managedcluster.Facts{Name: "cluster1", Exists: true, Accepted: true},
	}
	for _, e := range edits {
		e(f)
	}
	return f
}

func status(edit func(*argocd.Status)) func(*why.Facts) {
	return func(f *why.Facts) { edit(&f.App.Status) }
}

// TestOf: the first link that is broken, who can mend it, and how.
func TestOf(t *testing.T) {
	blocked := func(conditionType, reason, message string) func(*why.Facts) {
		return func(f *why.Facts) {
			f.Plan.Conditions = []delivery.Condition{{Type: conditionType, Reason: reason, Message: message}}
		}
	}
	noApp := func(s why.Set) func(*why.Facts) {
		return func(f *why.Facts) {
			s.Namespace, s.Name = "argocd", "guestbook"
			f.App, f.Cluster, f.Set = nil, "cluster7", &s
		}
	}
	for title, tc := range map[string]struct {
		is      *why.Facts
		verdict why.State
		broken  string
		says    string
		do      string
	}{
		"all is well": {is: good(), verdict: why.OK},
		"no label": {is: good(func(f *why.Facts) { delete(f.App.Labels, apis.LabelPull) }), verdict: why.Blocked, broken: why.LinkKeys,
			says: "has no label", do: "label applications.argoproj.io guestbook"},
		"no right": {is: good(blocked(apis.ConditionPropagationForbiddenError, apis.ReasonClusterForbidden, "not given")),
			verdict: why.Blocked, broken: why.LinkRights, says: "not given", do: "kubectl -n argocd get managedclustersetbindings"},
		"no cluster": {is: good(blocked(apis.ConditionPropagationError, apis.ReasonClusterNotFound, "there is none")),
			verdict: why.Blocked, broken: why.LinkTarget, says: "there is none"},
		"moving": {is: good(blocked(apis.ConditionMoveWarning, apis.ReasonMoving, "from cluster2")), verdict: why.Waiting, broken: why.LinkTarget},
		"a dependency": {is: good(status(func(s *argocd.Status) {
			s.Conditions = []argocd.Condition{{Type: apis.ConditionDependencyError, Message: "no Secret"}}
		})), verdict: why.Blocked, broken: why.LinkBeside, says: "no Secret"},
		"not made": {is: good(func(f *why.Facts) { f.Work = nil }), verdict: why.Waiting, broken: why.LinkWork},
		"not seen": {is: good(func(f *why.Facts) { f.Work.Generation = 3 }), verdict: why.Waiting, broken: why.LinkAgent},
		"refused": {is: good(func(f *why.Facts) { f.Work = applied(2, 2, metav1.ConditionFalse, "no rights") }),
			verdict: why.Blocked, broken: why.LinkAgent, says: "no rights"},
		"away": {is: good(func(f *why.Facts) { f.Managed.Unreachable = "cluster cluster1 has not been available since noon" }),
			verdict: why.Blocked, broken: why.LinkAgent, says: "known last", do: "kubectl describe managedcluster cluster1"},
		"a sync that failed": {is: good(status(func(s *argocd.Status) {
			s.OperationState = &argocd.OperationState{Phase: "Failed", Message: "no rights to Services"}
		})), verdict: why.Blocked, broken: why.LinkArgoCD, says: "no rights to Services"},
		"a comparison that failed": {is: good(status(func(s *argocd.Status) {
			s.Conditions = []argocd.Condition{{Type: "ComparisonError", Message: "no such path"}}
		})), verdict: why.Blocked, broken: why.LinkArgoCD, says: "no such path"},
		"out of sync":  {is: good(status(func(s *argocd.Status) { s.Sync.Status = "OutOfSync" })), verdict: why.Blocked, broken: why.LinkArgoCD},
		"not compared": {is: good(status(func(s *argocd.Status) { *s = argocd.Status{} })), verdict: why.Waiting, broken: why.LinkArgoCD},
		"degraded": {is: good(status(func(s *argocd.Status) {
			s.Health.Status = "Degraded"
			s.Resources = []argocd.ResourceStatus{{Kind: "Deployment", Name: "ui", Health: &argocd.Health{Status: "Degraded", Message: "no image"}}}
		})), verdict: why.Blocked, broken: why.LinkResources, says: "Deployment ui: no image"},
		"on its way": {is: good(status(func(s *argocd.Status) { s.Health.Status = "Progressing" })), verdict: why.Waiting, broken: why.LinkResources},
		"a tenant, all is well": {is: good(func(f *why.Facts) {
			f.Plan, f.Work, f.Managed, f.WorkUnread, f.Unread = nil, nil, nil, true, []string{"get managedclusters"}
		}), verdict: why.Unknown},
		"a tenant, told by the Application": {is: good(func(f *why.Facts) {
			f.Plan = nil
			f.App.Status.Conditions = []argocd.Condition{{Type: apis.ConditionPropagationForbiddenError, Message: "not given"}}
		}), verdict: why.Blocked, broken: why.LinkRights, says: "not given"},
		"no set": {is: good(noApp(why.Set{Missing: true})), verdict: why.Blocked, broken: why.LinkSet},
		"a set that fails": {is: good(noApp(why.Set{Conditions: []metav1.Condition{{
			Type: "ErrorOccurred", Status: metav1.ConditionTrue, Message: "bad template"}}})),
			verdict: why.Blocked, broken: why.LinkSet, says: "bad template"},
		"not chosen": {is: good(noApp(why.Set{Placements: []why.Placement{{Name: "all", Clusters: 2}}})), verdict: why.Blocked,
			broken: why.LinkPlacement, says: "has chosen 2 clusters, and not cluster7"},
		"no decisions": {is: good(noApp(why.Set{Placements: []why.Placement{{Name: "all", Missing: true}}})), verdict: why.Blocked,
			broken: why.LinkPlacement, says: "no PlacementDecision"},
		"no Secret": {is: good(noApp(why.Set{Placements: []why.Placement{{Name: "all", Clusters: 1, Chosen: true}}, Secret: why.SecretMissing})),
			verdict: why.Blocked, broken: why.LinkSecret, do: "gitopsclusters"},
		"not generated": {is: good(noApp(why.Set{})), verdict: why.Blocked, broken: why.LinkKeys, says: "no Application for cluster7"},
	} {
		t.Run(title, func(t *testing.T) {
			l := why.Of(tc.is)
			if l.Verdict() != tc.verdict {
				t.Errorf("it is %s: %+v", l.Verdict(), l.Links)
			}
			b := l.Broken()
			switch {
			case (b == nil) != (tc.broken == ""):
				t.Fatalf("broken: %+v", b)
			case b == nil:
			case b.Name != tc.broken || !strings.Contains(b.Message, tc.says) || !strings.Contains(b.Do, tc.do):
				t.Errorf("got %+v", b)
			}
			behind := false
			for _, k := range l.Links {
				if behind && k.State != why.Later {
					t.Errorf("%s is known, behind a link that is broken", k.Name)
				}
				behind = behind || k.State == why.Blocked || k.State == why.Waiting
			}
		})
	}
}

// TestReasons: every reason that the documentation tells of has a link, somebody who can change it, and a command; and every gate
// that shows a condition.
func TestReasons(t *testing.T) {
	doc, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "## Why an Application is not sent")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1)
	if len(rows) < 20 {
		t.Fatalf("the table has %d reasons", len(rows))
	}
	reasons := map[string]bool{}
	for _, row := range rows {
		reasons[row[1]] = true
	}
	delete(reasons, apis.ReasonOperationWithdrawn) // an event alone
	for _, g := range delivery.Gates {
		if g.Type != "" && g.Reason != "" {
			reasons[g.Reason] = true
		}
	}
	for reason := range reasons {
		f := good(func(f *why.Facts) {
			f.Plan.Conditions = []delivery.Condition{{Type: apis.ConditionPropagationError, Reason: reason}}
		})
		b := why.Of(f).Broken()
		if b == nil || b.Reason != reason || b.Do == "" || b.State == why.Blocked && b.Who == "" || strings.Contains(b.Do, "CLUSTER") {
			t.Errorf("%s: %+v", reason, b)
		}
	}
}
