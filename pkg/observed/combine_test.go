package observed

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// facts returns the facts of the source about the version, with the given parts.
func facts(source, version string, parts ...func(*Facts)) *Facts {
	f := &Facts{Source: source, Version: version}
	for _, part := range parts {
		part(f)
	}
	return f
}

func complete(f *Facts) { f.Complete = true }

func uid(u string) func(*Facts) { return func(f *Facts) { f.UID = u } }

func observedAt(second int64) func(*Facts) {
	return func(f *Facts) { f.ObservedAt = metav1.Unix(second, 0) }
}

func readAt(second int64) func(*Facts) {
	return func(f *Facts) { f.ReadAt = metav1.Unix(second, 0) }
}

func reconciled(at string) func(*Facts) {
	return func(f *Facts) { f.Status.ReconciledAt = at }
}

func state(health, sync string) func(*Facts) {
	return func(f *Facts) {
		f.Status.Health.Status = health
		if sync != "" {
			f.Status.Sync = &argocd.Sync{Status: sync}
		}
	}
}

func operation(phase, message string) func(*Facts) {
	return func(f *Facts) {
		f.Status.OperationState = &argocd.OperationState{Phase: phase, StartedAt: "2026-01-02T03:04:05Z", Message: message}
	}
}

func conditions(all bool, types ...string) func(*Facts) {
	return func(f *Facts) {
		f.ConditionsComplete = all
		for _, t := range types {
			f.Status.Conditions = append(f.Status.Conditions, argocd.Condition{Type: t, Message: "by " + f.Source})
		}
	}
}

func resources(names ...string) func(*Facts) {
	return func(f *Facts) {
		f.Detailed = true
		for _, n := range names {
			f.Status.Resources = append(f.Status.Resources, argocd.ResourceStatus{Name: n})
		}
	}
}

// said are the checked values: the value and the source of each part.
type said struct {
	Health, Sync, Operation string
	Conditions, Resources   []string
	Version                 string
	Complete, All, Detailed bool
	Origin                  Origin
}

func sayings(f *Facts) *said {
	if f == nil {
		return nil
	}
	s := &said{Health: f.Status.Health.Status, Version: f.Version, Complete: f.Complete,
		All: f.allConditions(), Detailed: f.Detailed, Origin: f.Origin}
	if f.Status.Sync != nil {
		s.Sync = f.Status.Sync.Status
	}
	if f.Status.OperationState != nil {
		s.Operation = f.Status.OperationState.Phase + " " + f.Status.OperationState.Message
	}
	for _, c := range f.Status.Conditions {
		s.Conditions = append(s.Conditions, c.Type+" "+c.Message)
	}
	for _, r := range f.Status.Resources {
		s.Resources = append(s.Resources, r.Name)
	}
	return s
}

func TestCombine(t *testing.T) {
	agent := func(version string, parts ...func(*Facts)) *Facts {
		return facts("agent", version, append(parts, complete, resources("a"))...)
	}
	for title, tc := range map[string]struct {
		rich, poor *Facts
		want       *said
	}{
		"nobody": {},
		"the richer one alone": {
			rich: facts("agent", "5", state("Healthy", "Synced")),
			want: &said{Health: "Healthy", Sync: "Synced", Version: "5", Origin: Origin{Health: "agent", Sync: "agent"}},
		},
		"the poorer one alone": {
			poor: facts("search", "", resources("s"), conditions(true)),
			want: &said{Resources: []string{"s"}, Detailed: true, All: true, Origin: Origin{Resources: "search", Conditions: "search"}},
		},
		"of the same version the richer one counts": {
			rich: agent("5", state("Degraded", "Synced"), operation("Succeeded", "agent")),
			poor: facts("feedback", "5", complete, state("Healthy", "OutOfSync"), operation("Failed", "feedback")),
			want: &said{Health: "Degraded", Sync: "Synced", Operation: "Succeeded agent", Resources: []string{"a"}, Version: "5",
				Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "agent", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"an older poorer one changes nothing": {
			rich: agent("5", state("Degraded", "Synced")),
			poor: facts("feedback", "4", complete, state("Healthy", "OutOfSync"), operation("Failed", "feedback"), conditions(true, "SyncError")),
			want: &said{Health: "Degraded", Sync: "Synced", Resources: []string{"a"}, Version: "5", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "agent", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"a hydration that failed is the poorer one's to tell": {
			rich: agent("5", state("Healthy", "Synced"), conditions(true, "SyncError")),
			poor: facts("feedback", "4", complete, state("Healthy", "Synced"), conditions(true, "SyncError", "HydrationError")),
			want: &said{Health: "Healthy", Sync: "Synced", Conditions: []string{"SyncError by agent", "HydrationError by feedback"},
				Resources: []string{"a"}, Version: "5", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "agent", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"a newer poorer one counts where it can tell": {
			rich: agent("5", state("Degraded", "OutOfSync"), operation("Running", "agent"), conditions(false, "SyncError")),
			poor: facts("feedback", "10", complete, state("Healthy", "Synced")),
			want: &said{Health: "Healthy", Sync: "Synced", Resources: []string{"a"}, Version: "10", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "feedback", Sync: "feedback", Operation: "feedback", Conditions: "feedback", Resources: "agent"}},
		},
		"a newer poorer one that lacks a part leaves the older": {
			rich: agent("5", state("Degraded", "OutOfSync"), operation("Running", "agent"), conditions(false, "SyncError")),
			poor: facts("feedback", "10", state("Healthy", "")),
			want: &said{Health: "Healthy", Sync: "OutOfSync", Operation: "Running agent", Conditions: []string{"SyncError by agent"},
				Resources: []string{"a"}, Version: "10", Detailed: true,
				Origin: Origin{Health: "feedback", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"a newer account of the same operation is the poorer one's only when it says something new": {
			rich: agent("5", operation("Succeeded", "agent")),
			poor: facts("feedback", "10", complete, operation("Succeeded", "feedback")),
			want: &said{Operation: "Succeeded agent", Resources: []string{"a"}, Version: "5", Complete: true, All: true, Detailed: true,
				Origin: Origin{Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"an account of an Application that is not there any more says nothing": {
			rich: agent("5000", state("Degraded", "OutOfSync"), uid("old")),
			poor: facts("feedback", "10", complete, uid("new"), state("Healthy", "Synced")),
			want: &said{Health: "Healthy", Sync: "Synced", Version: "10", Complete: true, All: true,
				Origin: Origin{Health: "feedback", Sync: "feedback", Operation: "feedback", Conditions: "feedback"}},
		},
		"of the same Application the newer version counts": {
			rich: agent("5", state("Degraded", "OutOfSync"), uid("one")),
			poor: facts("feedback", "10", complete, uid("one"), state("Healthy", "Synced")),
			want: &said{Health: "Healthy", Sync: "Synced", Resources: []string{"a"}, Version: "10", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "feedback", Sync: "feedback", Operation: "feedback", Conditions: "feedback", Resources: "agent"}},
		},
		"without versions the one that was read later counts": {
			rich: agent("5", state("Degraded", "OutOfSync"), readAt(100)),
			poor: facts("feedback", "", complete, state("Healthy", "Synced"), readAt(101)),
			want: &said{Health: "Healthy", Sync: "Synced", Resources: []string{"a"}, Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "feedback", Sync: "feedback", Operation: "feedback", Conditions: "feedback", Resources: "agent"}},
		},
		"of two that were read in one second the agent of the cluster's own may be gone": {
			rich: agent("5", state("Degraded", ""), readAt(100)),
			poor: facts("feedback", "", state("Healthy", ""), readAt(100)),
			want: &said{Health: "Healthy", Resources: []string{"a"}, Detailed: true,
				Origin: Origin{Health: "feedback", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"one that was read earlier changes nothing": {
			rich: agent("5", state("Degraded", "Synced"), readAt(100)),
			poor: facts("feedback", "", complete, state("Healthy", "OutOfSync"), operation("Failed", "feedback"), readAt(99)),
			want: &said{Health: "Degraded", Sync: "Synced", Resources: []string{"a"}, Version: "5", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "agent", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"versions tell better than clocks": {
			rich: agent("5", state("Degraded", "Synced"), readAt(100)),
			poor: facts("feedback", "4", complete, state("Healthy", "OutOfSync"), readAt(200)),
			want: &said{Health: "Degraded", Sync: "Synced", Resources: []string{"a"}, Version: "5", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "agent", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
		"search adds resources to feedback": {
			rich: facts("feedback", "7", complete, state("Healthy", "Synced"), conditions(false, "SyncError")),
			poor: facts("search", "", resources("s"), conditions(true, "ComparisonError")),
			want: &said{Health: "Healthy", Sync: "Synced", Conditions: []string{"SyncError by feedback"}, Resources: []string{"s"},
				Version: "7", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "feedback", Sync: "feedback", Operation: "feedback", Conditions: "feedback", Resources: "search"}},
		},
		"search adds conditions to feedback that does not know them all": {
			rich: facts("feedback", "7", state("Healthy", ""), conditions(false, "SyncError")),
			poor: facts("search", "", resources(), conditions(true, "ComparisonError", "SyncError")),
			want: &said{Health: "Healthy", Conditions: []string{"SyncError by feedback", "ComparisonError by search"},
				Version: "7", All: true, Detailed: true,
				Origin: Origin{Health: "feedback", Conditions: "feedback", Resources: "search"}},
		},
		"search gives the conditions to feedback that has none": {
			rich: facts("feedback", "7", state("Healthy", "")),
			poor: facts("search", "", resources(), conditions(true, "SyncError")),
			want: &said{Health: "Healthy", Conditions: []string{"SyncError by search"}, Version: "7", All: true, Detailed: true,
				Origin: Origin{Health: "feedback", Conditions: "search", Resources: "search"}},
		},
		"search has nothing to add to the agent": {
			rich: agent("5", state("Healthy", "Synced")),
			poor: facts("search", "", resources("s"), conditions(true, "SyncError")),
			want: &said{Health: "Healthy", Sync: "Synced", Resources: []string{"a"}, Version: "5", Complete: true, All: true, Detailed: true,
				Origin: Origin{Health: "agent", Sync: "agent", Operation: "agent", Conditions: "agent", Resources: "agent"}},
		},
	} {
		t.Run(title, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, sayings(Combine(tc.rich, tc.poor))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiffers: a newer reading of a poorer source without a difference does not replace the facts of a richer source.
func TestDiffers(t *testing.T) {
	sync := func(status, revision string, revisions ...string) func(*Facts) {
		return func(f *Facts) { f.Status.Sync = &argocd.Sync{Status: status, Revision: revision, Revisions: revisions} }
	}
	condition := func(t, message string) func(*Facts) {
		return func(f *Facts) {
			f.Status.Conditions = append(f.Status.Conditions, argocd.Condition{Type: t, Message: message})
		}
	}
	known := []func(*Facts){state("Healthy", ""), sync("Synced", "a", "x", "y"), operation("Succeeded", "long"),
		condition("SyncError", "no"), condition("NewError", "only newer agents know")}
	for title, tc := range map[string]struct {
		poor []func(*Facts)
		want bool
	}{
		"no facts": {},
		"equal facts": {
			[]func(*Facts){complete, state("Healthy", ""), sync("Synced", "a"), operation("Succeeded", ""), condition("SyncError", "no")}, false},
		"equal, of fewer sources":   {[]func(*Facts){sync("Synced", "", "x")}, false},
		"less, without knowing all": {[]func(*Facts){state("Healthy", "")}, false},
		"a new health":              {[]func(*Facts){state("Degraded", "")}, true},
		"a new comparison":          {[]func(*Facts){sync("OutOfSync", "a")}, true},
		"a new revision":            {[]func(*Facts){sync("Synced", "b")}, true},
		"a new revision of several": {[]func(*Facts){sync("Synced", "", "x", "z")}, true},
		"revisions of more sources": {[]func(*Facts){sync("Synced", "", "x", "y", "z")}, true},
		"a new phase":               {[]func(*Facts){operation("Running", "")}, true},
		"no operation any more":     {[]func(*Facts){complete, condition("SyncError", "no")}, true},
		"a new message":             {[]func(*Facts){condition("SyncError", "yes")}, true},
		"a new condition":           {[]func(*Facts){condition("ComparisonError", "x")}, true},
		"a condition that is over":  {[]func(*Facts){complete, operation("Succeeded", "")}, true},
	} {
		if got := facts("feedback", "", tc.poor...).differs(facts("agent", "", known...)); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}

// TestTheLaterTimeOfAComparison: neither source reports every comparison, so the later time counts.
func TestTheLaterTimeOfAComparison(t *testing.T) {
	const earlier, later = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
	for _, tc := range []struct{ rich, poor, want, by string }{
		{earlier, later, later, "feedback"}, {later, earlier, later, "agent"}, {later, later, later, "agent"},
		{earlier, "", earlier, "agent"}, {"", earlier, earlier, "feedback"}, {"", "", "", ""},
	} {
		for _, version := range []string{"4", "6"} {
			got := Combine(facts("agent", "5", complete, reconciled(tc.rich)), facts("feedback", version, complete, reconciled(tc.poor)))
			if got.Status.ReconciledAt != tc.want || got.Origin.Reconciled != tc.by {
				t.Errorf("%+v: got %q by %q", tc, got.Status.ReconciledAt, got.Origin.Reconciled)
			}
		}
	}
}

// TestCombineThree: a third source does not change the sources of parts known to the first two.
func TestCombineThree(t *testing.T) {
	agent := facts("agent", "5", complete, observedAt(100), resources("a"), state("Degraded", "OutOfSync"))
	feedback := facts("feedback", "6", complete, state("Healthy", "Synced"))
	search := facts("search", "", observedAt(300), resources("s"), conditions(true))
	got := Combine(Combine(agent, feedback), search)
	want := Origin{Health: "feedback", Sync: "feedback", Operation: "feedback", Conditions: "feedback", Resources: "agent"}
	if diff := cmp.Diff(want, got.Origin); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Source != "agent" || !got.ObservedAt.IsZero() {
		t.Errorf("source %q, observed at %v: want the richest source, and the time of the newest state", got.Source, got.ObservedAt)
	}
	if agent.Status.Health.Status != "Degraded" || agent.Origin != (Origin{}) {
		t.Error("what a source knows was changed in place")
	}
}

// degraded adds a resource reported as Degraded by the source.
func degraded(name string) func(*Facts) {
	return func(f *Facts) {
		health := &argocd.Health{Status: "Degraded", Message: "by " + f.Source}
		f.Status.Resources = append(f.Status.Resources, argocd.ResourceStatus{Name: name, Health: health})
	}
}

// TestHealthOfSomeResources: the work agent reports a single Degraded resource. Other sources list all
// resources, and may not know the health.
func TestHealthOfSomeResources(t *testing.T) {
	for title, tc := range map[string]struct {
		rich, poor *Facts
		want       string
	}{
		"feedback alone": {poor: facts("feedback", "5", degraded("a")), want: "a by feedback"},
		"search lists all resources": {
			rich: facts("feedback", "5", degraded("a")), poor: facts("search", "", resources("a", "b")), want: "a by feedback, b"},
		"search lacks the resource":                  {rich: facts("feedback", "5", degraded("c")), poor: facts("search", "", resources("a")), want: "a"},
		"an agent that could not read the resources": {rich: facts("agent", "5"), poor: facts("feedback", "5", degraded("a")), want: "a by feedback"},
		"an agent that knows better":                 {rich: facts("agent", "5", resources("a")), poor: facts("feedback", "5", degraded("a")), want: "a"},
		"an agent that has not looked since": {
			rich: facts("agent", "5", resources("a", "b")), poor: facts("feedback", "6", state("Degraded", ""), degraded("a")), want: "a by feedback, b"},
		"an agent that read the Degraded health": {
			rich: facts("agent", "6", resources("b"), degraded("a")), poor: facts("feedback", "5", degraded("b")), want: "b, a by agent"},
		"feedback that has seen the end of Degraded": {
			rich: facts("agent", "5", resources("b")), poor: facts("feedback", "6", state("Healthy", "")), want: "b"},
	} {
		t.Run(title, func(t *testing.T) {
			var got []string
			for _, r := range Combine(tc.rich, tc.poor).Status.Resources {
				text := r.Name
				if r.Health != nil {
					text += " " + r.Health.Message
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotCompared: the agent's report of a missing comparison holds until another source proves a comparison.
func TestNotCompared(t *testing.T) {
	const before, since, later = "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		t.Fatal(err)
	}
	silent := func(f *Facts) { f.NotComparedSince = metav1.NewTime(at) }
	agent := facts("agent", "5", complete, state("Healthy", "Synced"), reconciled(since), silent)
	for title, tc := range map[string]struct {
		poor *Facts
		want bool
	}{
		"the agent alone":                                  {nil, true},
		"feedback of the same version":                     {facts("feedback", "5", complete, state("Healthy", "Synced"), reconciled(since)), true},
		"feedback of an earlier version":                   {facts("feedback", "4", complete, state("Degraded", "Synced"), reconciled(before)), true},
		"feedback of a later version without a comparison": {facts("feedback", "6", complete, state("Healthy", "Synced")), true},
		"a comparison since":                               {facts("feedback", "6", complete, state("Healthy", "Synced"), reconciled(later)), false},
		"a change since":                                   {facts("feedback", "6", complete, state("Degraded", "Synced")), false},
		"a new Application of the same name":               {facts("feedback", "1", complete, uid("new"), state("Healthy", "Synced")), false},
	} {
		rich := *agent
		rich.UID = "old"
		if got := !Combine(&rich, tc.poor).NotComparedSince.IsZero(); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}
