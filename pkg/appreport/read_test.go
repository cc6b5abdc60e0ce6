package appreport_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appreport"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/history"
)

var (
	key  = types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	seen = time.Date(2026, 1, 2, 3, 4, 9, 0, time.UTC)
)

// cluster returns the Application on its cluster, with a status in JSON.
func cluster(t testing.TB, status string) *argocd.Application {
	t.Helper()
	app := fixture.Application(key.Name).Obj()
	app.ResourceVersion = "42"
	if err := json.Unmarshal([]byte(status), &app.Status); err != nil {
		t.Fatal(err)
	}
	return app
}

// whole is a full status, as Argo CD 2.14 writes the status, without the parts that a report omits.
const whole = `{
 "health":{"status":"Degraded","lastTransitionTime":"2026-01-02T03:04:06Z"},
 "sync":{"status":"OutOfSync","revision":"53e28ff"},
 "operationState":{"operation":{"initiatedBy":{"automated":true}},"phase":"Failed","message":"one or more objects failed to apply",
  "startedAt":"2026-01-02T03:04:05Z","finishedAt":"2026-01-02T03:04:07Z","retryCount":2,
  "syncResult":{"revision":"53e28ff","resources":[
   {"group":"","version":"v1","kind":"Service","namespace":"guestbook","name":"guestbook-ui","status":"SyncFailed",
    "message":"services is forbidden","hookPhase":"Failed","syncPhase":"Sync"},
   {"group":"batch","version":"v1","kind":"Job","namespace":"guestbook","name":"migrate","hookType":"PreSync",
    "hookPhase":"Succeeded","syncPhase":"PreSync"}]}},
 "reconciledAt":"2026-01-02T03:04:08Z",
 "conditions":[{"type":"SyncError","message":"Failed sync attempt","lastTransitionTime":"2026-01-02T03:04:07Z"}],
 "resources":[{"version":"v1","kind":"Service","namespace":"guestbook","name":"guestbook-ui","status":"OutOfSync",
   "health":{"status":"Missing"},"syncWave":-1},
  {"group":"apps","version":"v1","kind":"Deployment","namespace":"guestbook","name":"guestbook-ui","status":"Synced",
   "health":{"status":"Degraded","message":"exceeded its progress deadline"},"requiresPruning":true}],
 "summary":{"externalURLs":["https://guestbook.example.com/"],"images":["gcr.io/guestbook:v1"]},
 "history":[{"id":3,"revision":"43e28ff","deployStartedAt":"2026-01-01T03:04:05Z","deployedAt":"2026-01-01T03:04:07Z",
   "initiatedBy":{"username":"admin"},"source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook","targetRevision":"HEAD"}}]}`

func TestBuildAndRead(t *testing.T) {
	app := cluster(t, whole)
	before := app.DeepCopy()
	report := appreport.Build(app, seen)
	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("Build changed its input:\n%s", diff)
	}
	got := appreport.Read(report, key)
	history.Stamp(app.Status.History)
	if diff := cmp.Diff(app.Status, got.Status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.Complete || got.Version != "42" || !got.ObservedAt.Equal(&got.ObservedAt) || len(got.Rejected) != 0 || got.Truncated != nil {
		t.Errorf("got %+v", got)
	}
	if !got.ObservedAt.Time.Equal(seen) {
		t.Errorf("observed at %s", got.ObservedAt)
	}
}

// running is the beginning of a status with a running operation.
const running = `{"operationState":{"phase":"Running","startedAt":"2026-01-02T03:04:05Z"`

func revisions(n int) string { return strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") }

func TestReadRejects(t *testing.T) {
	long := strings.Repeat("x", 3000)
	tests := map[string]struct {
		status, field string
		want          string // the valid part of status
	}{
		"health code": {
			`{"health":{"status":"Excellent"}}`,
			"health",
			`{}`,
		},
		"health time": {
			`{"health":{"status":"Healthy","lastTransitionTime":"soon"}}`,
			"health",
			`{"health":{"status":"Healthy"}}`,
		},
		"sync code": {
			`{"sync":{"status":"Perfect","revision":"a"}}`,
			"sync",
			`{}`,
		},
		"revision": {
			`{"sync":{"status":"Synced","revision":"a b"}}`,
			"sync",
			`{"sync":{"status":"Synced"}}`,
		},
		"revision of several": {
			`{"sync":{"status":"Synced","revisions":["a","\u001b","c"]}}`,
			"sync",
			`{"sync":{"status":"Synced","revisions":["a","","c"]}}`,
		},
		"phase": {
			`{"operationState":{"phase":"Done","startedAt":"2026-01-02T03:04:05Z"}}`,
			"operationState",
			`{}`,
		},
		"start": {
			`{"operationState":{"phase":"Running","startedAt":"x"}}`,
			"operationState",
			`{}`,
		},
		"retries": {
			running + `,"retryCount":-3}}`,
			"operationState",
			running + `}}`,
		},
		"a result's code": {
			running + `,"syncResult":{"revision":"a","resources":[{"kind":"Job","name":"a","status":"Great"}]}}}`,
			"operationState.syncResult.resources",
			running + `,"syncResult":{"revision":"a","resources":[{"kind":"Job","name":"a"}]}}}`,
		},
		"reconciledAt": {
			`{"reconciledAt":"9999999-01-01T00:00:00Z"}`,
			"reconciledAt",
			`{}`,
		},
		"a condition's type": {
			`{"conditions":[{"type":"Sync\u202eError","message":"x"}]}`,
			"conditions",
			`{}`,
		},
		"a resource's name": {
			`{"resources":[{"kind":"Service","name":"a\u0000"},{"kind":"Service","name":"b"}]}`,
			"resources",
			`{"resources":[{"kind":"Service","name":"b"}]}`,
		},
		"a resource's kind": {
			`{"resources":[{"kind":"` + long + `","name":"a"}]}`,
			"resources",
			`{}`,
		},
		"a resource's status": {
			`{"resources":[{"kind":"Service","name":"a","status":"x"}]}`,
			"resources",
			`{"resources":[{"kind":"Service","name":"a"}]}`,
		},
		"a resource's wave": {
			`{"resources":[{"kind":"Service","name":"a","syncWave":99999999999}]}`,
			"resources",
			`{"resources":[{"kind":"Service","name":"a","syncWave":2147483647}]}`,
		},
		"a link that runs code": {
			`{"summary":{"externalURLs":["javascript:alert(1)","https://a.example/"]}}`,
			"summary",
			`{"summary":{"externalURLs":["https://a.example/"]}}`,
		},
		"an image": {
			`{"summary":{"images":["a\nb"]}}`,
			"summary",
			`{}`,
		},
		"a deployment's time": {
			`{"history":[{"id":1,"deployedAt":"x"}]}`,
			"history",
			`{}`,
		},
		"a deployment's source": {
			`{"history":[{"id":1,"deployedAt":"2026-01-02T03:04:05Z","source":{"repoURL":"a\u0007"}}]}`,
			"history",
			`{"history":[{"id":1,"deployedAt":"2026-01-02T03:04:05Z"}]}`,
		},
		"a deployment's number": {
			`{"history":[{"id":-1,"deployedAt":"2026-01-02T03:04:05Z"}]}`,
			"history",
			`{"history":[{"id":0,"deployedAt":"2026-01-02T03:04:05Z"}]}`,
		},
		"too many revisions": {
			`{"sync":{"status":"Synced","revisions":[` + revisions(65) + `]}}`,
			"sync",
			`{"sync":{"status":"Synced","revisions":[` + revisions(64) + `]}}`,
		},
		"who asked, too long": {
			running + `,"operation":{"initiatedBy":{"username":"` + long + `"}}}}`,
			"operationState",
			running + `}}`,
		},
		"a health of a resource": {
			`{"resources":[{"kind":"Service","name":"a","health":{"status":"Fine"}}]}`,
			"resources",
			`{"resources":[{"kind":"Service","name":"a"}]}`,
		},
	}
	for title, tc := range tests {
		t.Run(title, func(t *testing.T) {
			r := &v1alpha1.ApplicationReport{Status: cluster(t, tc.status).Status}
			r.Application = v1alpha1.ReportedApplication{Namespace: key.Namespace, Name: key.Name, ResourceVersion: "1"}
			got := appreport.Read(r, key)
			if diff := cmp.Diff(cluster(t, tc.want).Status, got.Status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tc.field}, got.Rejected); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
			if got.Complete {
				t.Error("an observation with a value left out counts as complete: what it lacks would be blanked")
			}
			if again := appreport.Build(cluster(t, tc.status), seen); !cmp.Equal(again.Status, got.Status) {
				t.Errorf("the agent builds something else:\n%s", cmp.Diff(again.Status, got.Status))
			}
		})
	}
}

// TestReadNoOperation checks that an operation state without a start is not shown.
func TestReadNoOperation(t *testing.T) {
	got := appreport.Read(appreport.Build(cluster(t, `{"operationState":{"phase":"Error","startedAt":"`+argocd.NeverBegan+`"}}`), seen), key)
	if got.Status.OperationState != nil || !got.Complete {
		t.Errorf("%+v", got)
	}
}

func TestReadOfAnotherApplication(t *testing.T) {
	for _, other := range []types.NamespacedName{{Namespace: "team-a", Name: key.Name}, {Namespace: key.Namespace, Name: "other"}, {}} {
		got := appreport.Read(appreport.Build(cluster(t, whole), seen), other)
		if !got.Empty() || got.Version != "" || got.Complete {
			t.Errorf("a report on %s speaks for %s: %+v", key, other, got)
		}
	}
}

func TestReadShowsOneConditionOfAType(t *testing.T) {
	app := cluster(t, `{"conditions":[
		{"type":"SyncError","message":"first"},{"type":"SyncError","message":"second"},
		{"type":"PropagationError","message":"what only the hub may say"},{"type":"ComparisonError","message":"c"}]}`)
	got := appreport.Read(appreport.Build(app, seen), key)
	want := []argocd.Condition{{Type: "ComparisonError", Message: "c"}, {Type: "SyncError", Message: "first"}}
	if diff := cmp.Diff(want, got.Status.Conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got.Complete {
		t.Error("a second condition of a type counts as a value that does not fit")
	}
}

func TestStatusThatDoesNotFitAsAWhole(t *testing.T) {
	for field, value := range map[string]string{
		"health": `"Healthy"`, "sync": `{"status":1}`, "operationState": `[]`, "conditions": `[{"type":"SyncError","lastTransitionTime":"x"}]`,
		"resources": `[{"kind":"Service","name":"a"},{"kind":7}]`, "summary": `{"images":"a"}`, "history": `[{"id":"x"}]`, "reconciledAt": `7`,
	} {
		t.Run(field, func(t *testing.T) {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(whole), &fields); err != nil {
				t.Fatal(err)
			}
			delete(fields, field)
			rest, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			fields[field] = json.RawMessage(value)
			odd, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			want, got := cluster(t, string(rest)).Status, cluster(t, string(odd)).Status
			want.Unreadable = []string{field}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			read := appreport.Read(appreport.Build(cluster(t, string(odd)), seen), key)
			if read.Complete || read.Detailed == (field == "resources" || field == "summary") {
				t.Errorf("what could not be read passes for what is not there: complete %t, detailed %t", read.Complete, read.Detailed)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	a, b := appreport.Build(cluster(t, whole), seen), appreport.Build(cluster(t, whole), seen.Add(time.Hour))
	if appreport.Digest(a) != appreport.Digest(b) {
		t.Error("the time alone makes another digest")
	}
	b.Status.Health.Status = "Healthy"
	if appreport.Digest(a) == appreport.Digest(b) {
		t.Error("another health makes the same digest")
	}
	c := cluster(t, whole)
	c.ResourceVersion, c.Status.ReconciledAt = "43", "2026-01-02T03:10:08Z"
	if report := appreport.Build(c, seen); appreport.Digest(a) != appreport.Digest(report) {
		t.Error("a comparison that brought nothing new counts")
	} else if report.Application.ResourceVersion != "43" || report.Status.ReconciledAt != "2026-01-02T03:10:08Z" {
		t.Error("Digest changed its input")
	}
}

// FuzzRead feeds reports of a hostile agent, and checks that every result is safe to write and to show.
func FuzzRead(f *testing.F) {
	f.Add([]byte(whole), "42", "2026-01-02T03:04:05Z")
	f.Add([]byte(`{"conditions":[{"type":"SyncError","message":"\u001b[31m"}],"resources":[{"kind":"a","name":"b"}]}`), "\x00", "never")
	f.Add([]byte(`{"history":[{"id":9e9,"sources":[{"repoURL":"x"}]}],"summary":{"externalURLs":["javascript:x"]}}`), "", "")
	f.Fuzz(func(t *testing.T, status []byte, version, observed string) {
		r := &v1alpha1.ApplicationReport{ObservedAt: observed}
		r.Application = v1alpha1.ReportedApplication{Namespace: key.Namespace, Name: key.Name, ResourceVersion: version}
		if json.Unmarshal(status, &r.Status) != nil {
			return
		}
		got := appreport.Read(r, key)
		data, err := json.Marshal(got.Status)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > v1alpha1.MaxReportSize {
			t.Errorf("%d bytes", len(data))
		}
		var tree any
		if err := json.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		walk(t, "", tree)
		r.Status = got.Status
		if again := appreport.Read(r, key); !cmp.Equal(again.Status, got.Status) {
			t.Errorf("what was read reads differently again:\n%s", cmp.Diff(got.Status, again.Status))
		}
	})
}

// walk checks every text of a JSON document.
func walk(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case string:
		bad := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0x202e }
		if len(v) > feedback.MaxMessage || !utf8.ValidString(v) || strings.ContainsFunc(v, bad) {
			t.Errorf("%s: %q is not fit to be shown", path, v)
		}
		if slices.Contains([]string{".reconciledAt", ".health.lastTransitionTime"}, path) {
			if _, ok := feedback.Time(v); !ok {
				t.Errorf("%s: %q is no time", path, v)
			}
		}
	case []any:
		for i := range v {
			walk(t, fmt.Sprintf("%s[%d]", path, i), v[i])
		}
	case map[string]any:
		for name := range v {
			walk(t, path+"."+name, v[name])
		}
	}
}

// TestNotCompared checks that a report has NotComparedSince only after a long time without a comparison, and that the
// hub accepts only a valid time.
func TestNotCompared(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 8, 0, time.UTC) // the time in whole
	for title, tc := range map[string]struct {
		status string
		now    time.Time
		after  time.Duration
		since  string
		again  time.Duration
	}{
		"just compared":         {whole, at, time.Minute, "", time.Minute},
		"compared in time":      {whole, at.Add(59 * time.Second), time.Minute, "", time.Second},
		"not compared any more": {whole, at.Add(time.Minute), time.Minute, "2026-01-02T03:04:08Z", 0},
		"not asked":             {whole, at.Add(time.Hour), 0, "", 0},
		"never compared":        {`{"health":{"status":"Healthy"}}`, at.Add(time.Minute), time.Minute, "2026-01-02T03:04:08Z", 0},
		"not compared yet":      {`{"health":{"status":"Healthy"}}`, at.Add(time.Second), time.Minute, "", 59 * time.Second},
		"nothing said yet":      {`{}`, at.Add(time.Minute), time.Minute, "2026-01-02T03:04:08Z", 0},
		"cannot be compared": {
			`{"sync":{"status":"Unknown"},"reconciledAt":"2026-01-02T03:04:08Z"}`, at.Add(time.Hour), time.Minute, "", 0},
		"a clock that is late": {whole, at.Add(-time.Hour), time.Minute, "", time.Hour + time.Minute},
	} {
		t.Run(title, func(t *testing.T) {
			report := appreport.Build(cluster(t, tc.status), tc.now)
			before := appreport.Digest(report)
			if again := appreport.NotCompared(report, at, tc.now, tc.after); report.NotComparedSince != tc.since || again != tc.again {
				t.Errorf("got %q, and again after %s", report.NotComparedSince, again)
			}
			if (appreport.Digest(report) != before) != (tc.since != "") {
				t.Error("the hub is told when nothing is to be told, or is not told")
			}
			got := appreport.Read(report, key).NotComparedSince
			if got.IsZero() != (tc.since == "") || !got.IsZero() && !got.Time.Equal(at) {
				t.Errorf("read %s", got)
			}
		})
	}
	report := appreport.Build(cluster(t, whole), seen)
	report.NotComparedSince = "since noon"
	if got := appreport.Read(report, key); !got.NotComparedSince.IsZero() || got.Complete || got.Rejected[0] != "notComparedSince" {
		t.Errorf("got %+v", got)
	}
}
