package why_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
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
	"github.com/towline-io/towline/pkg/relay"
	"github.com/towline-io/towline/pkg/why"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// applied returns a work with the given generation and the agent's condition for generation seen.
func applied(generation, seen int64, status metav1.ConditionStatus, message string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "guestbook-12345", Generation: generation}}
	w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: status, Message: message, ObservedGeneration: seen}}
	return w
}

// modified is the agent's message about a request for an outdated version of the cluster's Application.
const modified = `Operation cannot be fulfilled on applications.argoproj.io "guestbook": the object has been modified; ` +
	"please apply your changes to the latest version and try again"

// healthy returns the status of a running Application.
func healthy() argocd.Status {
	return argocd.Status{Health: argocd.Health{Status: "Healthy"}, Sync: &argocd.Sync{Status: "Synced", Revision: "abc"}}
}

// good returns the facts of an Application without problems.
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

// appliedAgo sets the first apply of the work on the cluster to a time in the past.
func appliedAgo(d time.Duration) func(*why.Facts) {
	return func(f *why.Facts) { f.Work.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-d)) }
}

// TestOf checks the first blocked or waiting link, who can solve the problem, and how.
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
		exactly string // the whole message of the link
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
		})), verdict: why.Blocked, broken: why.LinkDependencies, says: "no Secret"},
		"not made": {is: good(func(f *why.Facts) { f.Work = nil }), verdict: why.Waiting, broken: why.LinkWork},
		"not seen": {is: good(func(f *why.Facts) { f.Work.Generation = 3 }), verdict: why.Waiting, broken: why.LinkAgent},
		"refused": {is: good(func(f *why.Facts) { f.Work = applied(2, 2, metav1.ConditionFalse, "no rights") }),
			verdict: why.Blocked, broken: why.LinkAgent, says: "no rights"},
		"asked again": {is: good(func(f *why.Facts) {
			f.Work = applied(2, 2, metav1.ConditionFalse, modified)
			f.Work.Annotations = map[string]string{apis.AnnotationRequestSent: "sent 1-a 7 d"}
		}), verdict: why.Waiting, broken: why.LinkAgent},
		"refused with the words of a request, and it asks for none": {
			is:      good(func(f *why.Facts) { f.Work = applied(2, 2, metav1.ConditionFalse, modified) }),
			verdict: why.Blocked, broken: why.LinkAgent, says: "has been modified",
		},
		"away": {is: good(func(f *why.Facts) { f.Managed.Unreachable = "cluster cluster1 has not been available since noon" }),
			verdict: why.Blocked, broken: why.LinkAgent, says: "last known state", do: "kubectl describe managedcluster cluster1"},
		"a sync that failed": {is: good(status(func(s *argocd.Status) {
			s.OperationState = &argocd.OperationState{Phase: "Failed", Message: "no rights to Services"}
		})), verdict: why.Blocked, broken: why.LinkArgoCD, says: "no rights to Services"},
		"a comparison that failed": {is: good(status(func(s *argocd.Status) {
			s.Conditions = []argocd.Condition{{Type: "ComparisonError", Message: "no such path"}}
		})), verdict: why.Blocked, broken: why.LinkArgoCD, says: "no such path"},
		"met while the work is written": {is: good(status(func(s *argocd.Status) {
			s.Conditions = []argocd.Condition{{Type: apis.ConditionPropagationError, Message: "it is too large"}}
		})), verdict: why.Blocked, broken: why.LinkTarget, says: "it is too large"},
		"a Placement that is unclear": {is: good(func(f *why.Facts) {
			f.App = fixture.Application("guestbook").NoAnnotation(apis.AnnotationCluster).Annotation(apis.AnnotationPlacement, "best").
				Condition(apis.ConditionPlacementWarning, "has chosen 2 clusters").Obj()
			blocked(apis.ConditionPropagationError, apis.ReasonClusterAnnotationMissing, "no cluster")(f)
		}), verdict: why.Blocked, broken: why.LinkKeys, says: "has chosen 2", do: "kubectl -n argocd describe placement best"},
		"not compared for long": {is: good(status(func(s *argocd.Status) {
			s.Conditions = []argocd.Condition{{Type: apis.ConditionNotCompared, Message: "since noon"}}
		})), verdict: why.Blocked, broken: why.LinkArgoCD, says: "since noon", do: "# on the cluster"},
		"lost on the cluster": {is: good(status(func(s *argocd.Status) {
			s.Conditions = []argocd.Condition{{Type: apis.ConditionWorkAvailableWarning, Message: "not found"}}
		})), verdict: why.Blocked, broken: why.LinkAgent, says: "not found", do: "# on the cluster"},
		"degraded, as Towline puts it": {is: good(status(func(s *argocd.Status) {
			s.Health.Status = "Degraded"
			s.Conditions = []argocd.Condition{{Type: apis.ConditionResourcesDegraded, Message: "Deployment ui: no image"}}
		})), verdict: why.Blocked, broken: why.LinkResources, says: "Degraded: Deployment ui: no image"},
		"released": {is: good(func(f *why.Facts) {
			f.Plan.Conditions = []delivery.Condition{{Type: apis.ConditionReleaseWarning, Message: "released: the workload stays on its cluster"}}
		}), verdict: why.Blocked, broken: why.LinkTarget, says: "stays on its cluster"},
		"a tenant of what is released": {is: good(func(f *why.Facts) {
			f.Plan, f.WorkUnread, f.Work = nil, true, nil
			f.App.Status.Conditions = []argocd.Condition{{Type: apis.ConditionReleaseWarning, Message: "released: the workload stays on its cluster"}}
		}), verdict: why.Blocked, broken: why.LinkTarget, says: "stays on its cluster"},
		"a tenant of what is being released": {is: good(func(f *why.Facts) {
			f.Plan, f.WorkUnread, f.Work = nil, true, nil
			f.App.Status.Conditions = []argocd.Condition{{Type: apis.ConditionReleaseWarning, Message: "the cluster is asked to keep it"}}
		}), verdict: why.Waiting, broken: why.LinkTarget, says: "asked to keep"},
		"degraded, said thrice": {is: good(status(func(s *argocd.Status) {
			s.Health = argocd.Health{Status: "Degraded", Message: "Degraded"}
			s.Resources = []argocd.ResourceStatus{{Kind: "Deployment", Name: "ui", Health: &argocd.Health{Status: "Degraded", Message: "Degraded"}}}
		})), verdict: why.Blocked, broken: why.LinkResources, exactly: "Degraded"},
		"out of sync": {is: good(status(func(s *argocd.Status) { s.Sync.Status = "OutOfSync" })), verdict: why.Blocked, broken: why.LinkArgoCD},
		"changed, and not compared": {
			is:      good(status(func(s *argocd.Status) { s.Sync = &argocd.Sync{Status: "Unknown"} })),
			verdict: why.Waiting, broken: why.LinkArgoCD,
		},
		"changed, and not compared, of a set": {
			is: good(status(func(s *argocd.Status) { s.Sync = &argocd.Sync{Status: "OutOfSync"} }), func(f *why.Facts) {
				f.App.Annotations[apis.AnnotationRefresh] = apis.RefreshSpecChanged
			}),
			verdict: why.Waiting, broken: why.LinkArgoCD, says: "has not compared the current Application",
		},
		"not compared": {is: good(status(func(s *argocd.Status) { *s = argocd.Status{} }), appliedAgo(time.Minute)),
			verdict: why.Waiting, broken: why.LinkArgoCD, says: "yet"},
		"never compared": {is: good(status(func(s *argocd.Status) { *s = argocd.Status{} }), appliedAgo(relay.ChangeDeadline+time.Second)),
			verdict: why.Blocked, broken: why.LinkArgoCD, says: "no comparison", do: "-n argocd get applications.argoproj.io guestbook"},
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
			case b.Name != tc.broken || !strings.Contains(b.Message, tc.says) || !strings.Contains(b.Do, tc.do),
				tc.exactly != "" && b.Message != tc.exactly:
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

// TestReasons checks every documented reason, and every gate with a condition: each has a link, a responsible person,
// and a command.
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
	delete(reasons, apis.ReasonOperationWithdrawn) // an event without a condition
	for _, g := range delivery.Gates() {
		if g.Type != "" && g.Reason != "" {
			reasons[g.Reason] = true
		}
	}
	for reason := range reasons {
		f := good(func(f *why.Facts) {
			f.Plan.Conditions = []delivery.Condition{{Type: apis.ConditionPropagationError, Reason: reason}}
		})
		b := why.Of(f).Broken()
		if b == nil || b.Reason != reason || b.Do == "" || b.State == why.Blocked && b.Who == "" || strings.Contains(b.Do+b.Who, "CLUSTER") {
			t.Errorf("%s: %+v", reason, b)
		}
	}
}

// events are the reasons of events without a condition. Events block no Application.
var events = map[string]string{
	apis.ReasonPlaced:              "no problem",
	apis.ReasonPropagated:          "no problem",
	apis.ReasonWorkDeleted:         "no problem",
	apis.ReasonEditSetBack:         "the hub's Application goes on",
	apis.ReasonOperationWithdrawn:  "the Application goes on without the operation",
	apis.ReasonDeletedUnconfirmed:  "the Application is gone",
	apis.ReasonOrphaned:            "the Application is gone: the event is on the work",
	apis.ReasonLeftByOutage:        "the Application is gone: the event is on the work",
	apis.ReasonRemovalRefused:      "the Application is gone: the event is on the work",
	apis.ReasonPlacementUnclear:    "the condition PlacementWarning tells",
	apis.ReasonDependencyInvalid:   "the condition DependencyError tells",
	apis.ReasonDependencyMissing:   "the condition DependencyError tells",
	apis.ReasonDependencyForbidden: "the condition DependencyError tells",
	apis.ReasonDependencyRefused:   "the condition DependencyError tells",
}

// constants returns the values of pkg/apis constants in a file whose names begin with prefix, from the first groups of
// constants.
func constants(t *testing.T, file, prefix string, groups int) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../apis/"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range parsed.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		if groups--; groups < 0 {
			break
		}
		for _, s := range group.Specs {
			c := s.(*ast.ValueSpec)
			if value, ok := c.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(c.Names[0].Name, prefix) {
				text, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, text)
			}
		}
	}
	return out
}

// TestEveryReason checks that each reason constant blocks a link, or belongs to an event without a condition.
func TestEveryReason(t *testing.T) {
	all := append(constants(t, "reasons.go", "Reason", 1), constants(t, "dependencies.go", "Reason", 9)...)
	if len(all) < 40 {
		t.Fatalf("there are %d reasons", len(all))
	}
	for _, reason := range all {
		f := good(func(f *why.Facts) { f.Plan.Conditions = []delivery.Condition{{Type: "NotOne", Reason: reason}} })
		b := why.Of(f).Broken()
		switch known := b != nil; {
		case known == (events[reason] != ""):
			t.Errorf("%s: %+v, %q: a reason has a remedy in remedies.go, or is one of an event alone", reason, b, events[reason])
		case known && (b.Reason != reason || b.Do == "" || b.State == why.Blocked && b.Who == ""):
			t.Errorf("%s: %+v", reason, b)
		}
	}
}

// TestEveryCondition checks that each condition of Towline blocks an Application without further conditions, except the
// conditions listed here.
func TestEveryCondition(t *testing.T) {
	harmless := map[string]string{
		apis.ConditionRefreshWarning:    "the rest of the status holds",
		apis.ConditionResourcesStale:    "the rest of the status holds",
		apis.ConditionResourcesDegraded: "the health tells",
		apis.ConditionPlacementWarning:  "it is on the cluster that it had before",
	}
	for _, r := range apis.ConditionRules {
		f := good(status(func(s *argocd.Status) { s.Conditions = []argocd.Condition{{Type: r.Type, Message: "this is wrong"}} }))
		f.Managed = nil
		b := why.Of(f).Broken()
		switch {
		case (b == nil) != (harmless[r.Type] != ""):
			t.Errorf("%s: %+v, %q", r.Type, b, harmless[r.Type])
		case b != nil && (b.Reason != r.Type || !strings.Contains(b.Message, "this is wrong") || b.Do == ""):
			t.Errorf("%s: %+v", r.Type, b)
		}
	}
}

// TestLateComparison checks that a person must act if the cluster has not compared a change in time. A refresh warning
// alone blocks no link.
func TestLateComparison(t *testing.T) {
	for sync, want := range map[string]why.State{"Unknown": why.Blocked, "Synced": ""} {
		b := why.Of(good(status(func(s *argocd.Status) {
			s.Sync = &argocd.Sync{Status: sync}
			s.Conditions = []argocd.Condition{
				{Type: apis.ConditionRefreshWarning, Message: "it has not compared", LastTransitionTime: &metav1.Time{Time: time.Unix(1, 0)}}}
		}))).Broken()
		switch {
		case (b == nil) != (want == ""):
			t.Errorf("%s: %+v", sync, b)
		case b != nil && (b.State != want || b.Name != why.LinkArgoCD || b.Message != "it has not compared" || b.Since == nil || b.Who == ""):
			t.Errorf("%s: %+v", sync, b)
		}
	}
}

// TestSinceOfAComparison checks that the path shows since when a comparison is late.
func TestSinceOfAComparison(t *testing.T) {
	since := func(edits ...func(*why.Facts)) *time.Time {
		unknown := status(func(s *argocd.Status) { s.Sync = &argocd.Sync{Status: "Unknown"} })
		return why.Of(good(append(edits, unknown)...)).Broken().Since
	}
	if got := since(); got != nil {
		t.Errorf("nobody has asked, and it is since %s", got)
	}
	got := since(func(f *why.Facts) {
		f.Work.Annotations = map[string]string{apis.AnnotationRefreshSent: "spec-changed 1-a 2026-01-02T03:04:05Z"}
	})
	if want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); got == nil || !got.Equal(want) {
		t.Errorf("got %v, want %s", got, want)
	}
}
