package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/work"
)

// Observer describes in one line the visible state of an Application on a hub and on the clusters. The words are the
// same for the model and for a real fleet. UIDs are numbered in the order of their first appearance.
type Observer struct{ met []string }

// Seen is the visible state of an Application.
type Seen struct {
	// Hub is set if the hub has the Application. Deleting is set if the Application is being deleted.
	Hub, Deleting bool

	// Conditions are the types of propagation's conditions on the Application.
	Conditions []string

	// Clusters are the states on each cluster.
	Clusters []SeenThere
}

// SeenThere is the visible state on one cluster.
type SeenThere struct {
	// Name is the name of the cluster.
	Name string

	// Work is set if the hub has a work for the cluster. Applied is set if the agent has applied the current version of
	// the work.
	Work, Applied bool

	// Application and Workload are UIDs; empty for none. Managed is set if a work owns the Application.
	Application, Workload string
	Managed               bool
}

// Line returns the observation as a line of text.
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

// seen returns the visible state of an Application in the model.
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

// Observe runs a script in the model, and returns the visible state of the Application after each "settle".
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
