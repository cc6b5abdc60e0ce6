package bench

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// application has the fields of an Application that the benchmark reads.
type application struct {
	meta   `json:"metadata"`
	Status struct {
		Sync struct {
			Status   string `json:"status"`
			Revision string `json:"revision"`
		} `json:"sync"`
	} `json:"status"`
}

// setReport has the fields of a MulticlusterApplicationSetReport that the benchmark reads.
type setReport struct {
	meta     `json:"metadata"`
	Statuses struct {
		ClusterConditions []struct {
			App          string `json:"app"`
			SyncRevision string `json:"syncRevision"`
		} `json:"clusterConditions"`
		Summary struct {
			Synced  string `json:"synced"`
			Omitted string `json:"omitted"`
		} `json:"summary"`
	} `json:"statuses"`
}

// marker is the annotation with the number of a bare client's round trip.
const marker = "bench"

func (b *Bench) watchAll(ctx context.Context) error {
	if err := b.agents.follow(ctx, b.failed, b.sawWork); err != nil {
		return err
	}
	if err := watch(ctx, b.bare, applicationsPath, b.failed, b.sawApplication); err != nil {
		return err
	}
	return watch(ctx, b.bare, reportsPath, b.failed, b.sawReport)
}

func (b *Bench) sawWork(w *manifestWork) {
	at := time.Now()
	if w.Annotations[marker] != "" {
		return
	}
	name, _, _ := cutLast(w.Name, "-") // the rest is a part of the UID
	app, ok := b.layout.number(name)
	if !ok {
		return
	}
	w.asksVolatile, w.asksCompared = asks(w.Spec, "reconciledAt"), asksCompared(w.Spec)
	if b.Endurance > 0 {
		w.wants = wantedBy(w.Spec)
	}
	w.Spec = nil
	b.mu.Lock()
	before := b.works[app]
	b.works[app] = w
	b.mu.Unlock()
	switch {
	case before == nil && b.AtOnce && app < b.reporting()*b.Sets:
		b.expectFirst(app, at)
		b.came <- app
	case before != nil && before.Name != w.Name: // the Application was created again
		b.came <- app
	case before != nil && before.Generation != w.Generation:
		b.changed <- app
	}
	if t := b.created.Load(); t != nil {
		t.add(app, at)
	}
}

// firstSync is the number under which the first report of an Application is tracked: before that of every change.
const firstSync = 1

func (b *Bench) sawApplication(kind string, a *application) {
	app, ok := b.layout.number(a.Name)
	switch {
	case !ok:
	case kind == "DELETED":
		b.sawEnd(app)
	case a.Status.Sync.Status != "":
		b.status.saw(app, max(firstSync, numberOf(a.Status.Sync.Revision)), time.Now())
	}
}

func (b *Bench) sawReport(_ string, r *setReport) {
	at := time.Now()
	shown := map[int]bool{}
	for _, row := range r.Statuses.ClusterConditions {
		parts := strings.SplitN(row.App, "/", 3)
		if len(parts) < 3 || row.SyncRevision == "" {
			continue
		}
		if app, ok := b.layout.number(parts[1]); ok {
			shown[app] = true
			b.reports.saw(app, max(firstSync, numberOf(row.SyncRevision)), at)
		}
	}
	if s := r.Statuses.Summary; s.Omitted != "0" && s.Synced == strconv.Itoa(b.Clusters) {
		b.sawOmitted(r.Name, shown, at)
	}
}

// sawOmitted records which Applications have no row in a full report. The report counts all Applications as synced.
// Changes of the omitted Applications are not expected in the report.
func (b *Bench) sawOmitted(name string, shown map[int]bool, at time.Time) {
	for app := range b.applications() {
		if b.setName(b.set(app)) != name || shown[app] {
			continue
		}
		b.reports.saw(app, firstSync, at)
		b.mu.Lock()
		b.omitted[app] = true
		b.mu.Unlock()
	}
}

// work returns the last seen work of an Application.
func (b *Bench) work(app int) *manifestWork {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.works[app]
}

// asking returns the number of works that ask for volatile values.
func (b *Bench) asking() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, w := range b.works {
		if w.asksVolatile {
			n++
		}
	}
	return n
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
