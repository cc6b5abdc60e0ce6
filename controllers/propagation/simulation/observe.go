package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// Observer says in one line what can be seen of an Application on a hub and its clusters, in words that hold for the model and
// for a real fleet alike. UIDs are numbered in the order in which they are met.
type Observer struct{ met []string }

// Seen is what there is to say.
type Seen struct {
	// Hub is set when the hub has the Application, Deleting when that is being deleted.
	Hub, Deleting bool

	// Conditions are the types of propagation's conditions on it.
	Conditions []string

	// Clusters are what is on each.
	Clusters []SeenThere
}

// SeenThere is what there is on one cluster.
type SeenThere struct {
	// Name is the cluster's.
	Name string

	// Work is set when the hub has a work for it, Applied when its agent has applied that as it is.
	Work, Applied bool

	// Application and Workload are UIDs; empty where there is none. Managed is set when a work owns the Application.
	Application, Workload string
	Managed               bool
}

// Line is the observation.
func (o *Observer) Line(s Seen) string {
	hub := "no"
	switch {
	case s.Hub && s.Deleting:
		hub = "deleting"
	case s.Hub:
		hub = "yes"
	}
	slices.Sort(s.Conditions)
	var out strings.Builder
	fmt.Fprintf(&out, "hub %s [%s]", hub, strings.Join(s.Conditions, " "))
	for _, c := range s.Clusters {
		doing := "no work"
		switch {
		case c.Work && c.Applied:
			doing = "work applied"
		case c.Work:
			doing = "work"
		}
		managed := ""
		if c.Managed {
			managed = " managed"
		}
		fmt.Fprintf(&out, "; %s: %s, application %s%s, workload %s", c.Name, doing, o.number(c.Application), managed, o.number(c.Workload))
	}
	return out.String()
}

func (o *Observer) number(uid string) string {
	if uid == "" {
		return "-"
	}
	i := slices.Index(o.met, uid)
	if i < 0 {
		o.met, i = append(o.met, uid), len(o.met)
	}
	return fmt.Sprintf("#%d", i+1)
}

// seen is what can be seen of an Application in the model.
func (w *World) seen(at key) Seen {
	var s Seen
	if app, ok := w.hub.get(applications, at).(*argocd.Application); ok {
		s.Hub, s.Deleting = true, app.DeletionTimestamp != nil
		for _, c := range app.Status.Conditions {
			if delivery.Shown(c.Type) {
				s.Conditions = append(s.Conditions, c.Type)
			}
		}
	}
	for _, c := range w.clusters {
		there := SeenThere{Name: c.name}
		for _, m := range w.oracle.worksOf(at) {
			if m.Namespace == c.name {
				there.Work, there.Applied = true, work.Outcome(m) == "True"
			}
		}
		for _, place := range sortedKeys(c.apps) {
			if a := c.apps[place]; a.owner() == at {
				there.Application, there.Managed = a.uid, len(a.owners) > 0
			}
		}
		for _, place := range sortedKeys(c.deployed) {
			if l := c.deployed[place]; l.owner == at {
				there.Workload = l.uid
			}
		}
		s.Clusters = append(s.Clusters, there)
	}
	return s
}

// Observe runs a script in the model, and says what can be seen of the Application each time that all has settled.
func Observe(o Options, at string, script []Step) ([]string, error) {
	w, watcher := New(o), &Observer{}
	var out []string
	for i := range script {
		s := script[i]
		w.do(&s)
		if s.Op == "settle" {
			out = append(out, watcher.Line(w.seen(keyNamed(at))))
		}
	}
	if w.failure != nil {
		return out, w.failure
	}
	return out, nil
}
