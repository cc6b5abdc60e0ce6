package feedback_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
)

var id = workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "guestbook"}

func parse(b *fixture.FeedbackBuilder) feedback.Observation {
	status := b.Obj()
	return feedback.Parse(&status, id)
}

func TestParseHealthy(t *testing.T) {
	got := parse(fixture.Feedback(id).Healthy("53e28ff").String("uid", "u-1").
		Boolean("operationStateAutomated", true).Boolean("operationStateDryRun", true).Integer("operationStateRetryCount", 2))
	want := feedback.Observation{Complete: true, UID: "u-1", Version: "1", ReadAt: metav1.Unix(1_700_000_000, 0), Status: argocd.Status{
		Health: argocd.Health{Status: "Healthy"},
		Sync:   &argocd.Sync{Status: "Synced", Revision: "53e28ff"},
		OperationState: &argocd.OperationState{
			Phase: "Succeeded", Message: "successfully synced (all tasks run)", RetryCount: 2,
			StartedAt: "2026-01-02T03:04:05Z", FinishedAt: "2026-01-02T03:04:07Z",
			SyncResult: &argocd.SyncResult{Revision: "53e28ff"},
			Operation:  argocd.Operation{InitiatedBy: &argocd.Initiator{Automated: true}, Sync: argocd.SyncOperation{DryRun: true}},
		},
		ReconciledAt: "2026-01-02T03:04:08Z",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParseNoOperation checks that an operation state without a start is not shown.
func TestParseNoOperation(t *testing.T) {
	got := parse(fixture.Feedback(id).String("operationStatePhase", "Error").String("operationStateStartedAt", argocd.NeverBegan))
	if got.Status.OperationState != nil || len(got.Rejected) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestParseConditionsAndSources(t *testing.T) {
	got := parse(fixture.Feedback(id).String("syncStatus", "OutOfSync").
		String("conditionSyncError", "one or more objects failed").String("conditionComparisonError", "").
		String("syncRevisions0", "aaa").String("syncRevisions2", "ccc").
		String("operationStatePhase", "Succeeded").String("operationStateStartedAt", "2026-01-02T03:04:05Z").
		String("operationStateSyncRevisions0", "aaa").String("operationStateSyncRevisions1", "bbb"))
	want := argocd.Status{
		Sync: &argocd.Sync{Status: "OutOfSync", Revisions: []string{"aaa", "", "ccc"}},
		OperationState: &argocd.OperationState{
			Phase: "Succeeded", StartedAt: "2026-01-02T03:04:05Z", SyncResult: &argocd.SyncResult{Revisions: []string{"aaa", "bbb"}},
		},
		Conditions: []argocd.Condition{
			{Type: "ComparisonError"},
			{Type: "SyncError", Message: "one or more objects failed"},
		},
	}
	if diff := cmp.Diff(want, got.Status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParseOfASourceThatIsNew checks the report with a new source: the agent cannot read its missing revision, but all
// other values are known.
func TestParseOfASourceThatIsNew(t *testing.T) {
	const (
		begins = "Sync status feedback failed with error "
		synced = "failed to find value for operationStateSyncRevisions2 with error: array index out of bounds: index 2, length 2"
		both   = "[failed to find value for syncRevisions2 with error: array index out of bounds: index 2, length 2, " + synced + "]"
		long   = "the length of returned json raw string for name degradedMessage is larger than the maximum length 1024"
		health = "the length of returned json raw string for name healthMessage is larger than the maximum length 1024"
		typed  = "the type map[string]interface {} of the value for healthStatus is not found"
		other  = "failed to find value for conditionSyncError with error: conditions is not array or slice and cannot be filtered"
	)
	for message, complete := range map[string]bool{
		begins + synced: true, begins + both: true, begins + other: false, begins + "[" + other + ", " + synced + "]": false,
		begins + long: true, begins + "[" + long + ", " + synced + "]": true, begins + health: false,
		begins + "[" + health + ", " + synced + "]": false, begins + "[" + typed + ", " + synced + "]": false,
		begins + "it was too long": false, "": false, synced: false,
	} {
		got := parse(fixture.Feedback(id).Healthy("a").Condition("StatusFeedbackSynced", metav1.ConditionFalse, message))
		if got.Complete != complete {
			t.Errorf("%q: complete is %t", message, got.Complete)
		}
	}
}

func TestParseSpeaksOnlyOfItsApplication(t *testing.T) {
	other := id
	other.Name = "other"
	status := fixture.Feedback(other).Healthy("x").Obj()
	if got := feedback.Parse(&status, id); !got.Empty() || got.Complete {
		t.Errorf("a report on another Application was taken: %+v", got)
	}
}

// TestParseHostileValues checks that an invalid value affects only its own field.
func TestParseHostileValues(t *testing.T) {
	str := func(s string) workv1.FieldValue { return workv1.FieldValue{Type: workv1.String, String: ptr.To(s)} }
	tests := map[string]struct {
		name  string
		value workv1.FieldValue
	}{
		"unknown health":           {"healthStatus", str("Splendid")},
		"health in lower case":     {"healthStatus", str("healthy")},
		"HTML for health":          {"healthStatus", str("<script>")},
		"integer for health":       {"healthStatus", workv1.FieldValue{Type: workv1.Integer, Integer: ptr.To(int64(1))}},
		"string without a string":  {"healthStatus", workv1.FieldValue{Type: workv1.String}},
		"no type":                  {"healthStatus", workv1.FieldValue{String: ptr.To("Healthy")}},
		"map for health":           {"healthStatus", workv1.FieldValue{Type: workv1.JsonRaw, JsonRaw: ptr.To(`{"a":1}`)}},
		"unknown phase":            {"operationStatePhase", str("Done")},
		"a start that is no time":  {"operationStateStartedAt", str("yesterday")},
		"a start before time":      {"operationStateStartedAt", str("0001-01-01T00:00:00Z")},
		"a start after time":       {"operationStateStartedAt", str("9999-12-31T23:59:59Z")},
		"a start of a megabyte":    {"operationStateStartedAt", str(strings.Repeat("2", 1<<20))},
		"revision with a newline":  {"syncRevision", str("abc\ndef")},
		"revision with an escape":  {"syncRevision", str("abc\x1b[31m")},
		"revision of a megabyte":   {"syncRevision", str(strings.Repeat("a", 1<<20))},
		"empty revision":           {"syncRevision", str("")},
		"negative retry count":     {"operationStateRetryCount", workv1.FieldValue{Type: workv1.Integer, Integer: ptr.To(int64(-1))}},
		"string for a boolean":     {"operationStateAutomated", str("true")},
		"boolean without boolean":  {"operationStateAutomated", workv1.FieldValue{Type: workv1.Boolean}},
		"user name with a newline": {"operationStateInitiatedBy", str("a\nb")},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			b := fixture.Feedback(id).String("reconciledAt", "2026-01-02T03:04:08Z").String("syncStatus", "Synced").Value(tc.name, tc.value)
			got := parse(b)
			if diff := cmp.Diff([]string{tc.name}, got.Rejected); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
			if got.Complete {
				t.Error("an observation with a value left out counts as complete: what it lacks would be blanked")
			}
			want := argocd.Status{ReconciledAt: "2026-01-02T03:04:08Z", Sync: &argocd.Sync{Status: "Synced"}}
			if diff := cmp.Diff(want, got.Status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDropsPartsThatTheSchemaForbidsAlone(t *testing.T) {
	got := parse(fixture.Feedback(id).String("syncRevision", "abc").String("operationStatePhase", "Running").
		String("operationStateMessage", "x"))
	if got.Status.Sync != nil || got.Status.OperationState != nil {
		t.Errorf("got %+v", got.Status)
	}
}

func TestParseNormalisesTimes(t *testing.T) {
	got := parse(fixture.Feedback(id).String("reconciledAt", "2026-01-02T05:04:08.5+02:00"))
	if got.Status.ReconciledAt != "2026-01-02T03:04:08Z" {
		t.Errorf("got %s", got.Status.ReconciledAt)
	}
}

func TestParseTakesTheFirstOfARawList(t *testing.T) {
	got := parse(fixture.Feedback(id).Raw("conditionSyncError", `["first","second"]`))
	if diff := cmp.Diff([]argocd.Condition{{Type: "SyncError", Message: "first"}}, got.Status.Conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseIncomplete(t *testing.T) {
	got := parse(fixture.Feedback(id).Healthy("x").Condition("StatusFeedbackSynced", metav1.ConditionFalse, "a rule failed"))
	if got.Complete {
		t.Error("the agent could not evaluate a rule and the observation counts as complete")
	}
}

func TestRulesAskPerSource(t *testing.T) {
	base := len(feedback.Rules(0)[0].JsonPaths)
	for sources, want := range map[int]int{0: 0, 1: 1, 3: 3, feedback.MaxSources: feedback.MaxSources, 1000: feedback.MaxSources} {
		if got := len(feedback.Rules(sources)[0].JsonPaths) - base; got != 3*want {
			t.Errorf("%d sources: %d revisions asked for, want those of %d, compared and synced, and their tools", sources, got, want)
		}
	}
}

// TestRuleNamesOfOthers checks the five names and paths that other software reads.
func TestRuleNamesOfOthers(t *testing.T) {
	want := map[string]string{
		"healthStatus":            ".status.health.status",
		"syncStatus":              ".status.sync.status",
		"operationStatePhase":     ".status.operationState.phase",
		"operationStateStartedAt": ".status.operationState.startedAt",
		"syncRevision":            ".status.sync.revision",
	}
	got := map[string]string{}
	seen := map[string]bool{}
	for _, p := range append(feedback.Rules(feedback.MaxSources)[0].JsonPaths, feedback.VolatileRule().JsonPaths...) {
		if seen[p.Name] {
			t.Errorf("name %s is there twice: the API server refuses such a work", p.Name)
		}
		seen[p.Name] = true
		if _, ok := want[p.Name]; ok {
			got[p.Name] = p.Path
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRulesAskForNothingThatComparisonsChange checks that an unchanged Application causes no new report. Argo CD writes
// reconciledAt with every comparison, and the API server counts each write.
func TestRulesAskForNothingThatComparisonsChange(t *testing.T) {
	for _, p := range feedback.Rules(feedback.MaxSources)[0].JsonPaths {
		for _, changes := range []string{"reconciledAt", "observedAt", "resourceVersion", "generation", "managedFields"} {
			if strings.Contains(p.Path, changes) && p.Name != "agentAppliedAt" { // the time of an apply, which no comparison changes
				t.Errorf("%s asks for %s", p.Name, p.Path)
			}
		}
	}
}

func TestParseVolatile(t *testing.T) {
	got := parse(fixture.Feedback(id).String("resourceVersion", "7").String("refreshRequest", "one").
		String("refreshPending", "").Boolean("operationStarting", true))
	if !got.Complete || got.Version != "7" || got.RefreshRequest != "one" || !got.RefreshPending || !got.Starting {
		t.Errorf("got %+v", got)
	}
	if got = parse(fixture.Feedback(id)); got.RefreshPending || got.Starting {
		t.Errorf("got %+v", got)
	}
}

// TestParseOfAnOlderController checks the report on an older controller's rules: a missing value may still exist on the
// cluster.
func TestParseOfAnOlderController(t *testing.T) {
	status := fixture.Feedback(id).Healthy("a").Obj()
	values := &status.ResourceStatus.Manifests[0].StatusFeedbacks.Values
	*values = slices.DeleteFunc(*values, func(v workv1.FeedbackValue) bool { return v.Name == "uid" })
	if got := feedback.Parse(&status, id); got.Complete || got.Status.Health.Status != "Healthy" {
		t.Errorf("got %+v", got)
	}
}

func TestClean(t *testing.T) {
	tests := map[string]struct {
		in    string
		limit int
		want  string
	}{
		"plain":                  {"all is well", 100, "all is well"},
		"lines stay":             {"a\n\tb", 100, "a\n\tb"},
		"escapes go":             {"a\x1b[31mb\x00c", 100, "a [31mb c"},
		"bidi overrides go":      {"a\u202eb", 100, "a b"},
		"cut":                    {"abcdefgh", 6, "abc…"},
		"cut between characters": {"äöüäöü", 9, "äöü…"},
		"just fits":              {"abcdef", 6, "abcdef"},
		"surrounding space":      {"  a\n", 100, "a"},
		"not UTF-8":              {"a\xffb", 100, "a b"},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			if got := feedback.Clean(tc.in, tc.limit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWorkCondition(t *testing.T) {
	status := fixture.Feedback(id).Condition(workv1.WorkApplied, metav1.ConditionFalse, "forbidden").Obj()
	status.Conditions[0].Message = "1 of 1 failed"
	if got := feedback.WorkCondition(&status, id, workv1.WorkApplied); got.Message != "forbidden" {
		t.Errorf("the manifest's own message is not preferred: %q", got.Message)
	}
	status.ResourceStatus.Manifests = nil
	if got := feedback.WorkCondition(&status, id, workv1.WorkApplied); got.Message != "1 of 1 failed" {
		t.Errorf("the work's message is not the fallback: %q", got.Message)
	}
	if got := feedback.WorkCondition(&workv1.ManifestWorkStatus{}, id, workv1.WorkApplied); got != nil {
		t.Errorf("got %v", got)
	}
}

// FuzzParse feeds every rule with every type of value, and checks that every result is safe to write and to show.
func FuzzParse(f *testing.F) {
	f.Add("Healthy", int64(1), true, `["a"]`)
	f.Add("2026-01-02T03:04:05Z", int64(-1), false, `{"a":`)
	f.Add("\x1b[31m\xff", int64(0), false, `[1]`)
	f.Fuzz(func(t *testing.T, s string, i int64, v bool, raw string) {
		for _, value := range []workv1.FieldValue{
			{Type: workv1.String, String: &s}, {Type: workv1.Integer, Integer: &i},
			{Type: workv1.Boolean, Boolean: &v}, {Type: workv1.JsonRaw, JsonRaw: &raw}, {Type: "Other"},
		} {
			b := fixture.Feedback(id)
			for _, p := range append(feedback.Rules(feedback.MaxSources)[0].JsonPaths, feedback.VolatileRule().JsonPaths...) {
				b.Value(p.Name, value)
			}
			check(t, parse(b).Status)
		}
	})
}

func check(t *testing.T, s argocd.Status) {
	t.Helper()
	shown := []string{s.Health.Message}
	for _, r := range s.Resources {
		shown = append(shown, r.Kind, r.Name, r.Health.Message)
	}
	for _, c := range s.Conditions {
		shown = append(shown, c.Message)
	}
	if s.Sync != nil {
		shown = append(append(shown, s.Sync.Status, s.Sync.Revision), s.Sync.Revisions...)
	}
	if o := s.OperationState; o != nil {
		shown = append(shown, o.Message, o.Phase, o.StartedAt)
	}
	for _, text := range shown {
		if len(text) > feedback.MaxMessage || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\x7f\u202e") {
			t.Errorf("%q is not fit to be shown", text)
		}
	}
}

// TestDegradedResource checks resources with and without health, as Argo CD 2 and 3 store the health. The first
// Degraded resource comes back with its message.
func TestDegradedResource(t *testing.T) {
	const healthy = `{"kind":"Service","name":"ui","status":"Synced","health":{"status":"Healthy","message":"fine"}},{"kind":"ConfigMap","name":"c"}`
	for title, tc := range map[string]struct {
		status, want string
	}{
		"no status":    {`{}`, ""},
		"no resources": {`{"resources":[]}`, ""},
		"Argo CD 3":    {`{"resources":[{"kind":"Deployment","name":"ui","status":"Synced"}]}`, ""},
		"all is well":  {`{"resources":[` + healthy + `]}`, ""},
		"one": {`{"resources":[` + healthy + `,{"kind":"Deployment","name":"ui","health":{"status":"Degraded","message":"no progress"}}]}`,
			"Deployment ui: no progress"},
		"two": {`{"resources":[{"kind":"Job","name":"a","health":{"status":"Degraded","message":"first"}},` +
			`{"kind":"Deployment","name":"b","health":{"status":"Degraded","message":"second"}}]}`, "Job a: first"},
		"no message": {`{"resources":[{"kind":"Job","name":"a","health":{"status":"Degraded"}}]}`, "Job a: "},
	} {
		t.Run(title, func(t *testing.T) {
			object := map[string]any{}
			if err := json.Unmarshal([]byte(`{"status":`+tc.status+`}`), &object); err != nil {
				t.Fatal(err)
			}
			b := fixture.Feedback(id)
			answer(t, feedback.DetailRule(), object, b)
			seen := parse(b)
			if len(seen.Rejected) > 0 || !seen.Complete {
				t.Errorf("rejected %v, complete %t", seen.Rejected, seen.Complete)
			}
			got := ""
			for _, r := range seen.Status.Resources {
				got += r.Kind + " " + r.Name + ": " + r.Health.Message
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFirstCondition checks that the first condition counts without DetailRule, and only once with DetailRule.
func TestFirstCondition(t *testing.T) {
	for title, tc := range map[string]struct {
		report   *fixture.FeedbackBuilder
		detailed bool
		want     []argocd.Condition
	}{
		"no condition":        {fixture.Feedback(id).String("healthStatus", "Healthy"), false, nil},
		"a Degraded resource": {fixture.Feedback(id).String("healthStatus", "Degraded"), true, nil},
		"the first condition": {fixture.Feedback(id).String("conditionType", "SyncError").String("conditionMessage", "why"), true,
			[]argocd.Condition{{Type: "SyncError", Message: "why"}}},
		"both rules": {
			fixture.Feedback(id).String("conditionType", "SyncError").String("conditionMessage", "why").
				String("conditionSyncError", "why").String("conditionComparisonError", "how"), true,
			[]argocd.Condition{{Type: "ComparisonError", Message: "how"}, {Type: "SyncError", Message: "why"}}},
		"a new type": {fixture.Feedback(id).String("conditionType", "NewError").String("conditionMessage", "why"), true, nil},
	} {
		got := parse(tc.report)
		if got.Detailed != tc.detailed || !got.Complete || !reflect.DeepEqual(got.Status.Conditions, tc.want) {
			t.Errorf("%s: detailed %t, complete %t, conditions %v", title, got.Detailed, got.Complete, got.Status.Conditions)
		}
	}
}

// TestDegradedResourceOfAHostileCluster checks that an invalid name drops the resource, that a message is cleaned, and
// that an incomplete resource is dropped.
func TestDegradedResourceOfAHostileCluster(t *testing.T) {
	b := fixture.Feedback(id).String("degradedKind", "Deployment").String("degradedName", "a\nb").String("degradedMessage", "x")
	if got := parse(b); len(got.Status.Resources) > 0 || !slices.Equal(got.Rejected, []string{"degradedName"}) {
		t.Errorf("got %+v, rejected %v", got.Status.Resources, got.Rejected)
	}
	b = fixture.Feedback(id).String("degradedKind", "Deployment").String("degradedName", "ui").
		String("degradedMessage", "\x1b[31m"+strings.Repeat("x", 1<<20))
	got := parse(b).Status.Resources
	if len(got) != 1 || len(got[0].Health.Message) > feedback.MaxMessage || strings.Contains(got[0].Health.Message, "\x1b") {
		t.Errorf("got %.100v", got)
	}
	if got := parse(fixture.Feedback(id).String("degradedMessage", "x")).Status.Resources; len(got) > 0 {
		t.Errorf("a message of nothing: %+v", got)
	}
}
