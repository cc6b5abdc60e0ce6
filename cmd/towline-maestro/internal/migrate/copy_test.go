package migrate

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// recorded is a fake Maestro with a record of the requests.
type recorded struct {
	mu    sync.Mutex
	works []*workv1.ManifestWork
	asked []string
	fails error
}

func (r *recorded) note(verb string, w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, verb+" "+nameOf(w).String()+" "+string(w.UID))
	return w, r.fails
}

func (r *recorded) All(string, types.NamespacedName) (iter.Seq[*workv1.ManifestWork], uint64) {
	return slices.Values(r.works), 0
}

func (r *recorded) Create(_ context.Context, w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	return r.note("create", w)
}

func (r *recorded) Update(_ context.Context, _, w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	return r.note("update", w)
}

func (r *recorded) Delete(_ context.Context, w *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	return r.note("delete", w)
}

func TestCopy(t *testing.T) {
	uid := func(w *workv1.ManifestWork) { w.UID = "of-the-hub" }
	for name, tc := range map[string]struct {
		from, to []*workv1.ManifestWork
		options  Options
		fails    error
		asked    string
		out      string
		err      string
	}{
		"what is missing": {
			from:  []*workv1.ManifestWork{makeWork("a", uid)},
			asked: "create c1/a of-the-hub",
			out:   "done: 1 to create, 0 to update, 0 to remove, 0 as they should be, 0 have to wait, 0 failed\n",
		},
		"a dry run": {
			from: []*workv1.ManifestWork{makeWork("a"), makeWork("b")}, to: []*workv1.ManifestWork{makeWork("b")}, options: Options{DryRun: true},
			out: "create c1/a\n" +
				"dry run, nothing is written: 1 to create, 0 to update, 0 to remove, 1 as they should be, 0 have to wait, 0 failed\n",
		},
		"what differs gets the hub's UID": {
			from: []*workv1.ManifestWork{makeWork("a", uid, labelled)}, to: []*workv1.ManifestWork{makeWork("a")},
			asked: "update c1/a of-the-hub",
			out:   "done: 0 to create, 1 to update, 0 to remove, 0 as they should be, 0 have to wait, 0 failed\n",
		},
		"a failure": {
			from: []*workv1.ManifestWork{makeWork("a")}, fails: errors.New("refused"),
			asked: "create c1/a uid",
			out: "create c1/a: refused\n" +
				"done: 1 to create, 0 to update, 0 to remove, 0 as they should be, 0 have to wait, 1 failed\n",
			err: "not complete: 1 failed and 0 have to wait, see the lines above; run the command again",
		},
		"something to wait for": {
			from: []*workv1.ManifestWork{makeWork("a", deleting)},
			out: "wait   c1/a: the work is being deleted, and its cluster's agent has not confirmed that yet\n" +
				"done: 0 to create, 0 to update, 0 to remove, 0 as they should be, 1 have to wait, 0 failed\n",
			err: "not complete: 0 failed and 1 have to wait, see the lines above; run the command again",
		},
		"what was deleted since": {
			from: []*workv1.ManifestWork{makeWork("b")}, to: []*workv1.ManifestWork{makeWork("a"), makeWork("b")}, options: Options{Prune: true},
			asked: "delete c1/a uid",
			out:   "done: 0 to create, 0 to update, 1 to remove, 1 as they should be, 0 have to wait, 0 failed\n",
		},
		"nothing at all, where there is something": {
			to: []*workv1.ManifestWork{makeWork("a")}, options: Options{Prune: true},
			err: "nothing to copy, but the target has 1 works: are --to and --source right?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			maestro := &recorded{fails: tc.fails}
			out := &strings.Builder{}
			tc.options.Out = out
			err := tc.options.copy(t.Context(), tc.from, tc.to, func(ctx context.Context, s Step) error { return toMaestro(ctx, maestro, s) })
			if said := message(err); said != tc.err {
				t.Errorf("error %q, want %q", said, tc.err)
			}
			if got := strings.Join(maestro.asked, ", "); got != tc.asked {
				t.Errorf("asked %q, want %q", got, tc.asked)
			}
			if out.String() != tc.out {
				t.Errorf("printed\n%swant\n%s", out, tc.out)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestWorksOfChosenClusters(t *testing.T) {
	maestro := &recorded{works: []*workv1.ManifestWork{makeWork("a"), makeWork("b", func(w *workv1.ManifestWork) { w.Namespace = "c2" })}}
	if got := inMaestro(maestro, []string{"c2"}); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("of c2 there are %v", got)
	}
	if got := inMaestro(maestro, nil); len(got) != 2 || len(maestro.works) != 2 {
		t.Errorf("of all there are %v", got)
	}
}
