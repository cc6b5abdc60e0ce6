package report_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/report"
)

// FuzzSet compares a set with a full count of its entries, after any sequence of additions and removals.
func FuzzSet(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 200, 0}, 1<<20)
	f.Add([]byte{1, 9, 77, 1, 10, 78, 1, 200, 0, 5, 33, 99, 5, 34, 98}, 1<<20)
	f.Add(slices.Repeat([]byte{1, 17, 250, 2, 18, 251, 3, 19, 252}, 40), 9000)
	f.Fuzz(func(t *testing.T, script []byte, maxBytes int) {
		s, model := report.NewSet(nil), map[types.NamespacedName]report.Entry{}
		for ; len(script) >= 3; script = script[3:] {
			key := types.NamespacedName{Namespace: "argocd", Name: fmt.Sprintf("app-%d", script[0]%24)}
			if script[1] >= 200 {
				_, there := model[key]
				if s.Delete(key) != there {
					t.Errorf("%s: there: %t", key, there)
				}
				delete(model, key)
				continue
			}
			e := entryOf(script[0], script[1], script[2])
			s.Put(key, e)
			model[key] = e
		}
		if s.Len() != len(model) {
			t.Fatalf("%d of %d", s.Len(), len(model))
		}
		counted(t, s.Build(guestbook, owner, 1<<20), model)
		fresh := report.NewSet(nil)
		for _, key := range slices.SortedFunc(maps.Keys(model), func(a, b types.NamespacedName) int { return cmp.Compare(b.Name, a.Name) }) {
			fresh.Put(key, model[key])
		}
		maxBytes = max(7<<10, min(maxBytes, 1<<20))
		got, want := s.Build(guestbook, owner, maxBytes), fresh.Build(guestbook, owner, maxBytes)
		if !report.Equal(got, want) {
			t.Errorf("a set that was filled another way says another thing:\n%s", gocmp.Diff(want, got))
		}
		if n := report.Size(got); n > maxBytes {
			t.Errorf("%d bytes of %d", n, maxBytes)
		}
	})
}

// entryOf derives an entry from three numbers.
func entryOf(app, state, brings byte) report.Entry {
	healths := []string{"Healthy", "Degraded", "Progressing", "Missing", "", "Unknown"}
	syncs := []string{"Synced", "OutOfSync", "", "Unknown"}
	conditions := []string{"", apis.ConditionClusterUnreachable, apis.ConditionNotCompared, apis.ConditionPropagationError, "SyncError"}
	e := report.Entry{Detailed: brings%5 != 0}
	e.Row.Cluster, e.Row.App = fmt.Sprintf("c%d", state%7), fmt.Sprint("a", app)
	e.Row.HealthStatus, e.Row.SyncStatus = healths[int(state)%len(healths)], syncs[int(brings)%len(syncs)]
	if c := conditions[int(state/6)%len(conditions)]; c != "" {
		e.Row.Conditions = []v1alpha1.Condition{{Type: c, Message: "m"}}
	}
	for i := range int(brings % 4) {
		ref := v1alpha1.ResourceRef{APIVersion: "v1", Kind: "Service", Namespace: "x", Name: fmt.Sprint("r", (int(brings)/4+i)%9)}
		e.Resources = append(e.Resources, ref)
		if (int(state)+i)%3 == 0 {
			e.Failures = append(e.Failures, report.Failure{Ref: ref, State: "Degraded", Message: "m"})
		}
	}
	return e
}

// counted compares a report with a full count of all entries.
func counted(t *testing.T, got *v1alpha1.MulticlusterApplicationSetReport, model map[types.NamespacedName]report.Entry) {
	t.Helper()
	healthy, synced, unreachable, notCompared := 0, 0, 0, 0
	clusters, failing := map[string]bool{}, map[v1alpha1.ResourceRef]int{}
	for _, e := range model {
		clusters[e.Row.Cluster] = true
		healthy += one(e.Row.HealthStatus == "Healthy")
		synced += one(e.Row.SyncStatus == "Synced")
		for _, c := range e.Row.Conditions {
			unreachable += one(c.Type == apis.ConditionClusterUnreachable)
			notCompared += one(c.Type == apis.ConditionNotCompared)
		}
		for _, ref := range e.Resources {
			failing[ref] += 0
		}
		for _, f := range e.Failures {
			failing[f.Ref]++
		}
	}
	s, n := got.Statuses.Summary, len(model)
	want := v1alpha1.ReportSummary{
		Clusters: strconv.Itoa(len(clusters)), Applications: strconv.Itoa(n), Healthy: strconv.Itoa(healthy), NotHealthy: strconv.Itoa(n - healthy),
		Synced: strconv.Itoa(synced), NotSynced: strconv.Itoa(n - synced), Unreachable: strconv.Itoa(unreachable),
		NotCompared: strconv.Itoa(notCompared), InProgress: s.InProgress, Omitted: "0", OmittedResources: "0",
	}
	if diff := gocmp.Diff(want, s); diff != "" {
		t.Errorf("the summary (-want +got):\n%s", diff)
	}
	if len(got.Statuses.Resources) != len(failing) || len(got.Statuses.ClusterConditions) != n {
		t.Errorf("%d resources and %d rows, want %d and %d", len(got.Statuses.Resources), len(got.Statuses.ClusterConditions), len(failing), n)
	}
	for _, r := range got.Statuses.Resources {
		if int(r.Failing) != failing[r.ResourceRef] || len(r.Failures) > 10 {
			t.Errorf("%v fails on %d, want %d", r.ResourceRef, r.Failing, failing[r.ResourceRef])
		}
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
