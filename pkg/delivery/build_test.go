package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

var now = time.Unix(1_700_000_000, 0).UTC()

// everything are all facts that a decision can request.
const everything = FactSet(1<<20 - 1)

// situation is the input of a decision in a test.
type situation struct {
	Facts
	Options
}

// of returns the situation of an Application without works. The Application can be sent, and its cluster exists.
func of(b *fixture.ApplicationBuilder) *situation {
	app := b.Obj()
	s := &situation{Options: Options{Adopt: apis.AdoptMatching, AfterRestore: AfterRestoreHold, Move: MoveOptions{Timeout: time.Hour}}}
	s.Now, s.App, s.Known, s.Identity = now, app, everything, "identity"
	s.Key = types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	_, s.Unreadable = authorization.ReadSpec(app)
	s.Presence = Present
	if app.Labels[apis.LabelPull] == "" {
		s.Presence = Unlabelled
	}
	s.Clusters = map[string]managedcluster.Facts{}
	return s.cluster("cluster1").cluster("cluster2")
}

func (s *situation) cluster(name string, edits ...func(*managedcluster.Facts)) *situation {
	f := managedcluster.Facts{Name: name, Exists: true, Accepted: true, Ready: true}
	for _, edit := range edits {
		edit(&f)
	}
	s.Clusters[name] = f
	return s
}

func (s *situation) with(edits ...func(*situation)) *situation {
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// own adds a work of the Application, applied by the agent.
func (s *situation) own(t *testing.T, edits ...func(*workv1.ManifestWork)) *situation {
	t.Helper()
	s.Own = workFor(t, s.App, edits...)
	return s
}

// at adds a work on another cluster, or of an earlier Application of the same name.
func (s *situation) at(t *testing.T, cluster string, uid types.UID, edits ...func(*workv1.ManifestWork)) *situation {
	t.Helper()
	app := s.App.DeepCopy()
	app.Annotations[apis.AnnotationCluster], app.UID = cluster, uid
	s.Others = append(s.Others, workFor(t, app, edits...))
	return s
}

// gone changes the situation to the time after the end of the Application.
func (s *situation) gone() *situation {
	s.Presence = Gone
	if s.Own != nil {
		s.Others = append(s.Others, s.Own)
	}
	s.App, s.Own = nil, nil
	return s
}

func workFor(t testing.TB, app *argocd.Application, edits ...func(*workv1.ManifestWork)) *workv1.ManifestWork {
	t.Helper()
	w, err := work.Render(app, work.Requests{Volatile: unsettled(app)})
	if err != nil {
		t.Fatal(err)
	}
	w.UID, w.ResourceVersion, w.Generation = types.UID("uid-"+w.Namespace+"-"+w.Name), "7", 1
	w.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
	w.Finalizers = []string{workv1.ManifestWorkFinalizer}
	reports("Progressing")(w)
	for _, edit := range edits {
		edit(w)
	}
	return w
}

// reports sets the agent's report: the current generation is applied, and the Application has the health.
func reports(health string, values ...string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		b := fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier).String("healthStatus", health)
		for i := 0; i+1 < len(values); i += 2 {
			b.String(values[i], values[i+1])
		}
		fixture.Report(w, b.Obj())
	}
}

// refuses sets the agent's report: the apply failed with the message, and the agent has read the values.
func refuses(message string, values ...string) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		b := fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier)
		for i := 0; i+1 < len(values); i += 2 {
			b.String(values[i], values[i+1])
		}
		fixture.Report(w, b.Condition(workv1.WorkApplied, metav1.ConditionFalse, message).Obj())
	}
}

// unreadThere sets the agent's report: the cluster does not know the kind of the Application.
func unreadThere(w *workv1.ManifestWork) {
	fixture.Report(w, fixture.Feedback(w.Spec.ManifestConfigs[0].ResourceIdentifier).Unmapped().Obj())
}

// unseenYet makes a work unseen by its agent.
func unseenYet(w *workv1.ManifestWork) { w.Finalizers, w.Status = nil, workv1.ManifestWorkStatus{} }

// aged makes a work older.
func aged(by time.Duration) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) { w.CreationTimestamp = metav1.NewTime(w.CreationTimestamp.Add(-by)) }
}

// goingAway requests the deletion of a work.
func goingAway(w *workv1.ManifestWork) { w.DeletionTimestamp = &metav1.Time{Time: now} }

// releasedAnd releases a work, with or without the agent's apply of the release.
func releasedAnd(applied bool) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) {
		out, err := work.Release(w, nil)
		if err != nil {
			panic(err)
		}
		out.Generation++
		*w = *out
		if applied {
			reports("Healthy")(w)
		}
	}
}

// claimsBy sets the update mode of a work.
func claimsBy(c work.UpdateMode) func(*workv1.ManifestWork) {
	return func(w *workv1.ManifestWork) { work.SetUpdateMode(w, c) }
}

func deletedApp(b *fixture.ApplicationBuilder) *fixture.ApplicationBuilder { return b.Deleted(now) }

// outline returns a plan as text: a line for each write, condition, event and wait.
func outline(p *Plan) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i := range FactSet(20) {
		if p.Required&(1<<i) != 0 {
			add("needs %s", needs[i])
		}
	}
	if p.Required != 0 {
		return out
	}
	for _, s := range p.Steps {
		w := s.Work
		if s.Was != nil {
			w = s.Was
		}
		add("%s %s", s.Verb, w.Namespace)
		for _, e := range s.Events {
			add("  event %s", e.Reason)
		}
	}
	if h := p.Hub; h != nil {
		for _, part := range []struct {
			name string
			is   bool
		}{
			{"operation " + string(h.Operation), h.Operation != nil}, {refreshOf(h), h.Annotations != nil},
			{"no finalizers of Argo CD's", h.Finalizers != nil}, {"no operationState", h.Status != nil},
			{"conditions go", h.Conditions != nil && len(p.Conditions) == 0},
		} {
			if part.is {
				add("hub: %s", part.name)
			}
		}
	}
	for _, c := range p.Conditions {
		add("%s %s", c.Type, c.Reason)
	}
	for _, e := range p.Events {
		if !slices.ContainsFunc(p.Conditions, func(c Condition) bool { return c.Reason == e.Reason }) {
			add("event %s", e.Reason)
		}
	}
	if p.Wait.After != 0 {
		add("after %s", p.Wait.After)
	}
	if p.Wait.Backoff {
		add("backoff")
	}
	return out
}

// refreshOf returns the change of the refresh in the hub's Application.
func refreshOf(h *argocd.Patch) string {
	if kind := h.Annotations[apis.AnnotationRefresh]; kind != nil {
		return "refresh " + *kind
	}
	return "no refresh"
}

var needs = []string{
	"own", "claimants", "neighbours", "hub copy", "rehearsal", "return", "dependencies", "loss", "identity", "reports", "choice", "latest",
	"others", "rights",
}

// row is a case of a table: the situation, and the expected outline of the plan.
type row struct {
	is   *situation
	want []string

	// says is a part of an expected message.
	says string
}

// decides checks a table.
func decides(t *testing.T, table map[string]row) {
	t.Helper()
	for title, tc := range table {
		t.Run(title, func(t *testing.T) {
			cased[t.Name()] = true
			plan := Decide(tc.is.Facts, tc.is.Options)
			if got := outline(&plan); !slices.Equal(got, tc.want) {
				t.Errorf("got\n\t%q\nwant\n\t%q\nsaid: %v", got, tc.want, plan.Conditions)
			}
			if !slices.ContainsFunc(plan.Conditions, func(c Condition) bool { return strings.Contains(c.Message, tc.says) }) && tc.says != "" {
				t.Errorf("it says %v", plan.Conditions)
			}
			for _, a := range plan.Trace {
				asked[a.Gate] = true
				if a.Words != "" {
					held[a.Gate] = true
				}
			}
		})
	}
}

// cased are the names of the executed cases.
var cased = map[string]bool{}

// asked and held are the gates that the tables have asked, and the gates that have blocked.
var asked, held = map[string]bool{}, map[string]bool{}

// all returns the works of the situation, the others first.
func (s *situation) all() works {
	if s.Own == nil {
		return s.Others
	}
	return append(slices.Clone(s.Others), s.Own)
}
