package simulation

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
)

// The behaviour of an ApplicationSet with a Placement, and of OCM's placement controller. An unavailable cluster is
// tainted, and so is not chosen.

// follower is an ApplicationSet that creates one Application while the Placement chooses the cluster. The zero value is
// for no ApplicationSet.
type follower struct {
	// app is the Application to create, with these words of the script, for the cluster.
	app     key
	words   []string
	cluster string

	// dropped are the clusters that people have removed from the Placement.
	dropped map[string]bool

	// stopped is set while the ApplicationSet controller does not run; since is the beginning of the stop. late is set
	// after a stop too long for works to wait.
	stopped, late bool
	since         time.Time
}

const (
	placementName = "chosen"
	labelFollows  = "follows"
)

var (
	setKey      = key{Namespace: argoNamespace, Name: "set"}
	decisionKey = key{Namespace: argoNamespace, Name: placementName + "-decision-1"}
)

// specOfSet returns the spec of an ApplicationSet of the simulation.
func specOfSet(set client.Object) map[string]any {
	if set.GetLabels()[labelFollows] == "" {
		return map[string]any{"generators": []any{map[string]any{"list": map[string]any{}}}}
	}
	by := map[string]any{"matchLabels": map[string]any{clusterv1beta1.PlacementLabel: placementName}}
	return map[string]any{"generators": []any{map[string]any{"clusterDecisionResource": map[string]any{"labelSelector": by}}}}
}

// follow creates the ApplicationSet for an Application if necessary. It returns the Application with the ApplicationSet
// as its owner; nil if the Application exists or the cluster is not chosen.
func (w *World) follow(at key, words []string, app *argocd.Application) *argocd.Application {
	if w.follower.cluster == "" {
		w.setOf(argoNamespace, "")
		must(w.hub.update(applicationSets, func(o client.Object) { o.SetLabels(map[string]string{labelFollows: placementName}) })(setKey))
		decision := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: decisionKey.Namespace, Name: decisionKey.Name, Labels: map[string]string{clusterv1beta1.PlacementLabel: placementName},
		}}
		_ = w.hub.create(decisions, decision, false)
		w.follower = follower{app: at, words: words, cluster: words[0], dropped: map[string]bool{}, stopped: w.follower.stopped}
		w.place()
	}
	if w.hub.get(applications, at) != nil || at != w.follower.app || !slices.Contains(w.chosen(), w.follower.cluster) {
		return nil
	}
	controller := true
	app.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: argocd.GroupVersion.String(), Kind: "ApplicationSet", Name: setKey.Name, UID: w.hub.get(applicationSets, setKey).GetUID(),
		Controller: &controller,
	}}
	return app
}

// stopSets stops or starts the ApplicationSet controller.
func (w *World) stopSets(stopped bool) {
	f := &w.follower
	f.late = f.isLate(w.now)
	if stopped && !f.stopped {
		f.since = w.now
	}
	f.stopped = stopped
}

func (f *follower) isLate(now time.Time) bool {
	return f.late || f.stopped && now.Sub(f.since) > delivery.ReturnWindow/3
}

// unfollow deletes the ApplicationSet together with the Application, as a request of a person.
func (w *World) unfollow() {
	if w.follower.cluster == "" {
		return
	}
	at := w.follower.app
	w.follower = follower{}
	_ = w.hub.remove(applicationSets, setKey, nil)
	_ = w.hub.remove(decisions, decisionKey, nil)
	w.oracle.asksFor(at)
	w.oracle.deletes(at, false)
	_ = w.hub.remove(applications, at, nil)
}

// drop removes a cluster from the Placement or adds it again, as a request of a person.
func (w *World) drop(cluster string, off bool) {
	if w.follower.cluster == "" {
		return
	}
	w.follower.dropped = copied(w.follower.dropped)
	w.follower.dropped[cluster] = off
	w.place()
}

// wanted returns the clusters that the Placement should choose.
func (w *World) wanted() (out []string) {
	for _, c := range w.clusters {
		mc, ok := w.hub.get(managedClusters, key{Name: c.name}).(*clusterv1.ManagedCluster)
		if ok && !w.follower.dropped[c.name] && meta.IsStatusConditionTrue(mc.Status.Conditions, clusterv1.ManagedClusterConditionAvailable) {
			out = append(out, c.name)
		}
	}
	return out
}

// chosen returns the clusters in the PlacementDecision.
func (w *World) chosen() (out []string) {
	if d, ok := w.hub.get(decisions, decisionKey).(*clusterv1beta1.PlacementDecision); ok {
		for _, c := range d.Status.Decisions {
			out = append(out, c.ClusterName)
		}
	}
	return out
}

// unplaced reports whether the placement controller has to write a decision. place writes the decision.
func (w *World) unplaced() bool {
	return w.follower.cluster != "" && !slices.Equal(w.wanted(), w.chosen())
}

func (w *World) place() bool {
	if !w.unplaced() {
		return false
	}
	must(w.hub.update(decisions, func(o client.Object) {
		d := o.(*clusterv1beta1.PlacementDecision)
		d.Status.Decisions = nil
		for _, name := range w.wanted() {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
		}
	})(decisionKey))
	return true
}

// ungenerated reports whether the ApplicationSet controller has to create or delete the Application. generate does so.
func (w *World) ungenerated() bool {
	if w.follower.cluster == "" || w.follower.stopped {
		return false
	}
	app := w.hub.get(applications, w.follower.app)
	if slices.Contains(w.chosen(), w.follower.cluster) {
		return app == nil
	}
	return app != nil && app.GetDeletionTimestamp() == nil
}

func (w *World) generate() bool {
	if !w.ungenerated() {
		return false
	}
	at := w.follower.app
	if w.hub.get(applications, at) == nil {
		w.createApplication(at, w.follower.words)
		return true
	}
	w.oracle.deletes(at, !w.follower.dropped[w.follower.cluster])
	_ = w.hub.remove(applications, at, nil)
	return true
}

// deletes is called before the deletion of an Application. outage means that an outage is the only reason. A second
// deletion changes nothing.
func (o *oracle) deletes(at key, outage bool) {
	if r := o.apps[at]; r != nil && !r.gone && r.app.DeletionTimestamp == nil {
		r.outage = outage
	}
}

// removed is called when an Application leaves a cluster. If the hub lost the Application by an outage, the cluster
// must keep the Application as long as the ApplicationSet controller creates it again.
func (o *oracle) removed(c *cluster, a *placed) {
	f, at := &o.world.follower, a.owner()
	there := place{c.name, at}
	if f.cluster != c.name || f.app != at || f.isLate(o.world.now) || o.late[there] || o.forfeited[there] || o.lastWord(o.apps[at], c) {
		return
	}
	o.world.fail("stay", "%s of %s went from %s, and nobody asked for that", a.uid, at, c.name)
}

// asksFor is called when people ask for the end of an Application that is already in deletion.
func (o *oracle) asksFor(at key) {
	if r := o.apps[at]; r != nil {
		r.outage = false
	}
}

// lostByOutage reports whether only an ApplicationSet during an outage has asked for the end of an Application.
func (o *oracle) lostByOutage(app *argocd.Application, c *cluster) bool {
	r := o.apps[client.ObjectKeyFromObject(app)]
	return r != nil && r.outage && r.app.UID == app.UID && !app.DeletedOnOutage() && !app.ToBeForced() && !o.world.follower.dropped[c.name]
}
