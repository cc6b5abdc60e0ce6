package simulation

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

// oracle knows the requests of users, from docs/lifecycle.md and not from the controller. It checks the events on the
// clusters against these requests.
type oracle struct {
	world *World
	apps  map[key]*record
	ran   map[string]string

	// late are the Applications on clusters whose removal Towline requested before the users changed their mind, since
	// the world was last at rest.
	late map[place]bool

	// raced are the clusters to which a process sent an Application because of an outdated read, while a second process
	// led.
	raced map[place]bool

	// contenders are the processes that sent a work to a new place of a cluster while a second process led.
	contenders map[place]string

	// forfeited are the Applications on clusters whose removal needs no request of a user any more.
	forfeited map[place]bool

	// unknown are the names of works that had brought Applications to their spots, and that a restored hub did not
	// know.
	unknown map[spot]string
}

// spot is a cluster, a hub Application, and the namespace and name on the cluster.
type spot struct {
	place
	at key
}

// place is a hub Application on a cluster.
type place struct {
	cluster string
	app     key
}

// record is the oracle's knowledge about a hub Application.
type record struct {
	// app is the last version of the Application. gone is set after the deletion. without is set if the user removed
	// the finalizers during the deletion.
	app     *argocd.Application
	gone    bool
	without bool

	// outage is set if the ApplicationSet has deleted the Application because the Placement dropped an unavailable
	// cluster.
	outage bool

	// sent is set if the Application has asked for a cluster long enough for Towline to see the request.
	sent bool

	// always is set if the Application has ever had the permission to take over existing Applications.
	always bool

	// freed is set if the Application has ever been released. Since then the Application on the cluster may be
	// unmanaged.
	freed bool

	// compared is set if the cluster has compared since a user asked for a refresh.
	compared bool
}

// reads notes the Applications, cluster namespaces and ApplicationSets that a reconcile reads from the hub, or from the
// cache too with AsSeen. The oracle judges the actions of the reconcile by these versions.
func (p *process) reads(k kind, at key, found *item, live bool) {
	if p.call == nil || k != applications && k != clusterNamespaces && k != applicationSets || !live && !p.world.options.AsSeen {
		return
	}
	if p.call.seen[k] == nil {
		p.call.seen[k] = map[key]*item{}
	}
	p.call.seen[k][at] = found
}

// read returns the last noted version of an object in this reconcile, because a user may have changed the object since.
// Without a noted version, it returns the hub's current version.
func (p *process) read(k kind, at key) *item {
	if p.call != nil && p.call.seen[k][at] != nil {
		return p.call.seen[k][at]
	}
	return p.world.hub.objects[k][at]
}

// changed is called for every write of a hub Application.
func (o *oracle) changed(at key, before *item) {
	r := o.apps[at]
	if r == nil {
		r = &record{}
		o.apps[at] = r
	}
	now, ok := o.world.hub.get(applications, at).(*argocd.Application)
	if !ok {
		r.gone, r.app = true, before.Object.(*argocd.Application)
		return
	}
	o.refreshes(at, r, now)
	r.gone, r.app = false, now
	r.freed = r.freed || released(now)
	r.always = r.always || now.Annotations[apis.AnnotationAdopt] == apis.AdoptAlways
}

// creates is called before a user creates an Application.
func (o *oracle) creates(at key) {
	r := o.apps[at]
	if r == nil || !r.gone {
		return
	}
	for _, c := range o.world.clusters {
		if o.lastWord(r, c) {
			o.late[place{c.name, at}] = true
		}
	}
	delete(o.apps, at)
}

// stripped is called before a user removes the finalizers.
func (o *oracle) stripped(at key, off bool) {
	if r := o.apps[at]; r != nil && !r.gone {
		r.without = off
	}
}

// released reports whether the clusters must keep their objects.
func released(app *argocd.Application) bool {
	return !app.Pulled() || app.ToBeReleased() || !app.ReconcileSkipped() || app.Cluster() == ""
}

// undecided reports whether both the hub's Argo CD and the Argo CD of cluster c1 may deploy, until a user decides.
func undecided(app *argocd.Application) bool {
	name, _ := app.Destination()
	return name == "c1" && app.Pulled() && !app.ReconcileSkipped() && !app.ToBeReleased()
}

// lastWord reports whether a user's last request asks for the end of a workload.
func (o *oracle) lastWord(r *record, c *cluster) bool {
	ns := o.world.hub.objects[clusterNamespaces][key{Name: c.name}]
	return r != nil && (!r.without || !r.gone) && o.asksToDestroy(r.app, r.gone, c, ns, o.setOf(r.app, nil))
}

// asksToDestroy reports whether the given version of an Application asks for the end of a workload.
func (o *oracle) asksToDestroy(app *argocd.Application, gone bool, c *cluster, ns *item, set map[string]string) bool {
	switch {
	case o.lostByOutage(app, c),
		released(app) || argocd.Unreadable(app.Annotations, apis.AnnotationRelease) || !argocd.Destroys(app.Finalizers),
		!gone && (paused(app, ns) || argocd.Paused(set)):
		return false
	case gone || app.DeletionTimestamp != nil:
		return true
	}
	return app.Cluster() != c.name && o.world.cluster(app.Cluster()) != nil
}

// paused reports whether an Application or a cluster is paused.
func paused(app *argocd.Application, ns *item) bool {
	return argocd.Paused(app.Annotations) || ns != nil && argocd.Paused(ns.GetAnnotations())
}

// asked is called after a process has asked for the deletion of a work. A user's change of mind then comes too late.
func (o *oracle) asked(p *process, w *workv1.ManifestWork) {
	at := named(w)
	c, r := o.world.cluster(w.Namespace), o.apps[at]
	if c == nil || r == nil {
		return
	}
	read := p.read(applications, at)
	if !r.gone {
		o.leaves(read.Object.(*argocd.Application), c, w)
	}
	late := o.lastWord(r, c) || o.world.revocable(c)
	if p.call != nil && !late && read != nil {
		app, ns := read.Object.(*argocd.Application), p.read(clusterNamespaces, key{Name: c.name})
		late = o.asksToDestroy(app, false, c, ns, o.setOf(app, p.call.seen[applicationSets])) ||
			app.DeletionTimestamp != nil && p.call.dropped[c.name]
	}
	if late {
		o.late[place{c.name, at}] = true
	}
}

// sends is called after a process has written an object. A process must not send content that a known rule refuses.
func (o *oracle) sends(p *process, before, after client.Object) {
	m, ok := after.(*workv1.ManifestWork)
	if ok && (before == nil || !slices.Equal(work.Targets(before.(*workv1.ManifestWork)), work.Targets(m))) {
		o.races(p, m)
	}
	if b, was := before.(*workv1.ManifestWork); ok && was {
		o.waitsForAnswer(p, b, m)
	}
	r, known := o.world.refusing["project"]
	if !ok || !known || !r.until.IsZero() || p.behind(stream(projects)) || p.call != nil && p.call.behind {
		return
	}
	now, was := sourceOf(m), ""
	if b, ok := before.(*workv1.ManifestWork); ok {
		was = sourceOf(b)
	}
	if now != "" && now != was && (was != "" || before == nil) {
		o.world.fail("grant", "ManifestWork %s/%s carries what its AppProject refuses", m.Namespace, m.Name)
	}
}

// waitsForAnswer checks that a sent operation stays in its work until the agent has answered. Before the answer, only the
// end of the request or of the Application on the hub removes the operation from the work.
func (o *oracle) waitsForAnswer(p *process, before, after *workv1.ManifestWork) {
	id := requestID(string(before.Spec.Workload.Manifests[0].Raw))
	if id == "" || id == requestID(string(after.Spec.Workload.Manifests[0].Raw)) || work.Outcome(before) != "" {
		return
	}
	at := named(before)
	for _, seen := range []*item{o.world.hub.objects[applications][at], p.cached[applications][at]} {
		if seen == nil {
			return
		}
		app := seen.Object.(*argocd.Application)
		if app.DeletionTimestamp != nil || app.Cluster() != before.Namespace || app.Operation == nil ||
			requestID(string(app.Operation.Raw)) != id || app.Status.OperationState.Terminating() {
			return
		}
	}
	o.world.fail("answer", "ManifestWork %s/%s loses operation %s before the agent's answer", before.Namespace, before.Name, id)
}

// races notes a work created from an Application that was read past the cache and has changed since. Between the read
// and the write, a process does not know about the writes of a second leader.
func (o *oracle) races(p *process, w *workv1.ManifestWork) {
	at := named(w)
	alone := !slices.ContainsFunc(o.world.processes, func(other *process) bool { return other != p && other.leads })
	if !alone {
		o.contenders[place{w.Namespace, at}] = p.name
	}
	if p.call == nil || alone || p.call.seen[applications][at] == nil {
		return
	}
	read := p.call.seen[applications][at].Object.(*argocd.Application)
	if r := o.apps[at]; r != nil && read.Cluster() == w.Namespace && (r.gone || r.app.Cluster() != w.Namespace) {
		o.raced[place{w.Namespace, at}] = true
	}
}

// named returns the hub Application in the annotations of a work.
func named(w *workv1.ManifestWork) key {
	return key{Namespace: w.Annotations[apis.AnnotationHubNamespace], Name: w.Annotations[apis.AnnotationHubName]}
}

// sourceOf returns the source in a work; empty for none.
func sourceOf(m *workv1.ManifestWork) string {
	if len(m.Spec.Workload.Manifests) == 0 {
		return ""
	}
	p, err := readPayload(applicationIn(m))
	must(err)
	return p.value("spec:source")
}

// destroyed is called at the end of a workload.
func (o *oracle) destroyed(c *cluster, w *workload, why string) {
	r := o.apps[w.owner]
	at := place{c.name, w.owner}
	if o.late[at] || o.forfeited[at] || o.lastWord(r, c) || o.isUnknown(c, w.owner, w.at) && !o.isMadeAgain(r, c, w) {
		return
	}
	for _, m := range o.worksOf(w.owner) {
		if r != nil && m.Namespace == c.name && m.Name != work.Name(r.app) {
			why += ", of an earlier Application of that name"
		}
	}
	o.world.fail("keep", "%s of %s on %s was destroyed by %s, and nobody asked for that", w.uid, w.owner, c.name, why)
}

// leaves is called after a process has asked for the deletion of a work. During a move, the old cluster must keep the
// Application until the new cluster has it, except with the order old-first.
func (o *oracle) leaves(app *argocd.Application, c *cluster, w *workv1.ManifestWork) {
	to := o.world.cluster(app.Cluster())
	if app.DeletionTimestamp != nil || released(app) || app.Annotations[apis.AnnotationMoveOrder] == apis.MoveOldFirst ||
		to == nil || to == c || w.Name != work.Name(app) || o.world.disaster || o.world.revocable(c) || !work.Seen(w) {
		return
	}
	for _, a := range to.apps {
		if a.owner() == client.ObjectKeyFromObject(app) && len(a.owners) > 0 {
			return
		}
	}
	o.world.fail("somewhere", "%s/%s is taken off %s before %s has it", app.Namespace, app.Name, c.name, to.name)
}

// owner returns the hub Application behind an Application on a cluster, from the path in the source.
func (a *placed) owner() key {
	_, rest, _ := strings.Cut(a.spec["source"], `"path":"`)
	path, _, _ := strings.Cut(rest, `"`)
	return keyNamed(path)
}

func (o *oracle) placed(*cluster, *placed) {}

// applied is called when a work agent writes an Application. A different source in the fields means a different hub
// Application.
func (o *oracle) applied(c *cluster, a *placed, p *payload, before key) {
	if !p.has("spec:source") {
		return
	}
	at := a.owner()
	r := o.apps[at]
	if before.Name != "" && before != at {
		o.taken(c, a, before, r)
	}
	if w := c.deployed[a.key]; w != nil && a.version == 0 {
		w.owner = at // Argo CD tracks by namespace and name, so the new Application gets the workload of the earlier one
	}
	if a.version != 0 || r == nil || r.gone || r.app.Annotations[apis.AnnotationMoveOrder] != apis.MoveOldFirst || released(r.app) ||
		p.value("annotation:"+apis.AnnotationWork) != work.Name(r.app) { // an earlier Application of the same name has a move order of its own
		return
	}
	for _, other := range o.world.clusters {
		if other == c {
			continue
		}
		for _, b := range other.apps {
			raced := o.raced[place{c.name, at}] || o.raced[place{other.name, at}]
			if b.owner() == at && len(b.owners) > 0 && !o.forfeited[place{other.name, at}] && !o.isUnknown(other, at, b.key) && !raced {
				o.world.fail("old-first", "%s came to %s while %s has it", at, c.name, other.name)
			}
		}
	}
}

// taken is called when a different hub Application takes over an Application on a cluster.
func (o *oracle) taken(c *cluster, a *placed, before key, r *record) {
	if w := c.deployed[a.key]; w != nil {
		w.owner = a.owner()
	}
	if before.Namespace == "hand" {
		if r != nil && !r.gone && r.app.Annotations[apis.AnnotationAdopt] != apis.AdoptAlways && !r.always {
			o.world.fail("adopt", "%s took over what %s made by hand on %s", a.owner(), before, c.name)
		}
		return
	}
	if one, other := o.contenders[place{c.name, before}], o.contenders[place{c.name, a.owner()}]; one != "" && other != "" && one != other {
		return // neither process could see the second Application of the target: a limit in docs/simulation.md
	}
	first := o.apps[before]
	if first != nil && first.freed && len(a.owners) <= 1 && o.world.hub.get(works, work.Key(first.app)) == nil {
		return // a user withdrew the release of an unmanaged Application, and a second Application came first
	}
	if first != nil && !first.gone && !released(first.app) && first.app.Cluster() == c.name &&
		first.app.ClusterNamespace() == a.Namespace || len(a.owners) > 1 {
		o.world.fail("tenants", "%s took over what %s has on %s", a.owner(), before, c.name)
	}
}

// began is called when an operation begins.
func (o *oracle) began(c *cluster, a *placed) {
	name := revisionOf(a.operation)
	if name == ownSync || a.left {
		return
	}
	switch before := o.ran[name]; before {
	case "":
	case c.name:
		o.world.fail("once", "operation %s of %s runs again on %s", name, a.owner(), c.name)
	default:
		o.world.fail("once anywhere", "operation %s of %s, which ran on %s, runs on %s", name, a.owner(), before, c.name)
	}
	o.ran[name] = c.name
}

// atRest checks the state of the world against the requests of the users.
func (o *oracle) atRest() {
	for _, at := range sortedKeys(o.apps) {
		r := o.apps[at]
		app := r.app
		works := o.worksOf(at)
		switch {
		case app.Labels["hub-copy"] != "" || !r.gone && (unreadable(app) || o.world.onHub(app)):
		case !r.gone && app.DeletionTimestamp != nil && !app.ReconcileSkipped():
		case !r.gone && app.DeletionTimestamp != nil:
			if app.Cascades() && (r.sent || len(works) > 0) {
				o.world.fail("rest", "%s is still there, being deleted", at)
			}
		case r.gone && len(works) > 0 && !slices.ContainsFunc(works, notHeld): // an older controller had left the work behind
		case !r.gone && undecided(app): // cluster c1 keeps the Application
		case r.gone || released(app):
			if len(works) > 0 {
				o.world.fail("rest", "%s has the work %s left", at, works[0].Namespace+"/"+works[0].Name)
			}
			o.nothingManaged(at, nil)
		case o.world.cluster(app.Cluster()) == nil, (o.contested(at, app) || o.waits(at, app)) && !o.hasPlace(app):
		default:
			o.delivered(app, works)
		}
	}
}

// notHeld reports whether a work does not wait for the decision of a person.
func notHeld(w *workv1.ManifestWork) bool { return w.Annotations[apis.AnnotationOrphanedAt] == "" }

// setOf returns the annotations of an Application's ApplicationSet, as noted by the reconcile or from the hub.
func (o *oracle) setOf(app *argocd.Application, seen map[key]*item) map[string]string {
	name, ok := app.ApplicationSet()
	if !ok {
		return nil
	}
	at := key{Namespace: app.Namespace, Name: name}
	set, read := seen[at]
	if !read {
		set = o.world.hub.objects[applicationSets][at]
	}
	if set == nil {
		return nil
	}
	return set.GetAnnotations()
}

// forgets notes the Applications on a cluster for which the hub has no matching work: no work at all, a work not yet
// seen by the agent, or a work for a different target. The agent removes such an Application, at once or an hour later,
// unless the hub creates the work again.
func (o *oracle) forgets(c *cluster) {
	for at, a := range c.apps {
		for i := range a.owners {
			if name := a.workName(i); !o.brings(c, name, at) {
				o.unknown[spot{place{c.name, a.owner()}, at}] = name
			}
		}
	}
}

// brings reports whether the hub has the named work, the agent has seen the work, and the work carries the Application
// to the given place.
func (o *oracle) brings(c *cluster, name string, to key) bool {
	w, ok := o.world.hub.get(works, key{Namespace: c.name, Name: name}).(*workv1.ManifestWork)
	return ok && work.Seen(w) && work.CarriesTo(w, to)
}

// isUnknown reports whether a restored hub does not know about the Application in the given place of a cluster.
func (o *oracle) isUnknown(c *cluster, app, there key) bool {
	name, was := o.unknown[spot{place{c.name, app}, there}]
	return was && !o.brings(c, name, there)
}

// isMadeAgain reports whether, after a restore of the hub, Towline must create the work of a workload again in time.
// The hub then has no work of that name, and the user's last request asks for the same place.
func (o *oracle) isMadeAgain(r *record, c *cluster, w *workload) bool {
	name := o.unknown[spot{place{c.name, w.owner}, w.at}]
	if o.world.hub.get(works, key{Namespace: c.name, Name: name}) != nil {
		return false
	}
	return r != nil && !r.gone && r.app.DeletionTimestamp == nil && !released(r.app) && !unreadable(r.app) && !argocd.Paused(r.app.Annotations) &&
		r.app.Cluster() == c.name && r.app.ClusterNamespace() == w.at.Namespace
}

// restored is called after a restore of the hub. The restored objects are the users' last requests. Applications
// unknown to the hub may go, because the work agent removes them after an hour.
func (o *oracle) restored() {
	for _, c := range o.world.clusters {
		o.forgets(c)
	}
	for _, at := range sortedKeys(o.apps) {
		now, ok := o.world.hub.get(applications, at).(*argocd.Application)
		if ok {
			o.apps[at] = &record{app: now, compared: true}
			continue
		}
		delete(o.apps, at)
		for _, c := range o.world.clusters {
			o.forfeited[place{c.name, at}] = true
		}
	}
	for at, i := range o.world.hub.objects[applications] {
		app := i.Object.(*argocd.Application)
		o.apps[at] = &record{app: app, compared: true}
		if app.Operation != nil { // the hub requests the operation again
			delete(o.ran, revisionOf(string(app.Operation.Raw)))
		}
	}
}

// detached is called when a cluster has left the hub. Towline does not decide about the objects of a detached cluster.
func (o *oracle) detached(c *cluster) {
	for name, where := range o.ran {
		if where == c.name {
			delete(o.ran, name)
		}
	}
	for _, a := range c.apps {
		a.left = true
	}
	for at := range o.apps {
		o.forfeited[place{c.name, at}] = true
	}
}

func (o *oracle) worksOf(at key) []*workv1.ManifestWork {
	var out []*workv1.ManifestWork
	for _, k := range sortedKeys(o.world.hub.objects[works]) {
		w := o.world.hub.get(works, k).(*workv1.ManifestWork)
		if named(w) == at {
			out = append(out, w)
		}
	}
	return out
}

// onHub reports whether the hub itself is the target of an Application, in the same namespace.
func (w *World) onHub(app *argocd.Application) bool {
	return w.options.Hub != "" && app.Cluster() == w.options.Hub && app.ClusterNamespace() == app.Namespace
}

// nothingManaged checks that no cluster has a managed Application except for the given Application.
func (o *oracle) nothingManaged(at key, but *placed) {
	for _, c := range o.world.clusters {
		left := func(w *workv1.ManifestWork) bool { return w.Namespace == c.name && work.ByOlder(w) }
		if but != nil && slices.ContainsFunc(o.worksOf(at), left) {
			continue
		}
		for _, a := range c.apps {
			if a != but && a.owner() == at && len(a.owners) > 0 {
				o.world.fail("rest", "cluster %s still has %s, with the owners %v", c.name, at, a.owners)
			}
		}
	}
}

// contested reports whether a second hub Application asks for the same target.
func (o *oracle) contested(at key, app *argocd.Application) bool {
	for other, r := range o.apps {
		if other != at && o.world.options.SameNames && !r.gone && !released(r.app) && r.app.Name == app.Name && r.app.Cluster() == app.Cluster() {
			return true
		}
		if other != at && !r.gone && !released(r.app) && r.app.Name == app.Name && r.app.Cluster() == app.Cluster() &&
			r.app.ClusterNamespace() == app.ClusterNamespace() {
			return true
		}
	}
	return false
}

// waits reports whether the place of an Application belongs to a second Application that cannot leave: the second
// Application asks for the place of the first Application or for a cluster that does not exist, or waits for a person.
func (o *oracle) waits(at key, app *argocd.Application) bool {
	for other, r := range o.apps {
		stays := o.holds(at, r.app) || o.world.cluster(r.app.Cluster()) == nil || unreadable(r.app) || undecided(r.app)
		if other != at && !r.gone && stays && o.holds(other, app) {
			return true
		}
	}
	return false
}

// holds reports whether an Application has a work at the target of the wanted Application.
func (o *oracle) holds(at key, wanted *argocd.Application) bool {
	return slices.ContainsFunc(o.worksOf(at), func(w *workv1.ManifestWork) bool {
		return w.Namespace == wanted.Cluster() && work.CarriesTo(w, key{Namespace: wanted.ClusterNamespace(), Name: wanted.Name})
	})
}

// hasPlace reports whether the work of an Application carries the Application to its target.
func (o *oracle) hasPlace(app *argocd.Application) bool {
	w, ok := o.world.hub.get(works, work.Key(app)).(*workv1.ManifestWork)
	return ok && work.CarriesTo(w, key{Namespace: app.ClusterNamespace(), Name: app.Name})
}

// refused reports whether a handmade Application has the target, and must not be taken over.
func (o *oracle) refused(c *cluster, app *argocd.Application) bool {
	a := c.apps[key{Namespace: app.ClusterNamespace(), Name: app.Name}]
	adopt := app.Annotations[apis.AnnotationAdopt]
	switch {
	case a == nil || len(a.owners) > 0:
		return false
	case adopt == apis.AdoptNever:
		return true
	case !a.managers["spec:source"]["kubectl"]:
		return false
	}
	return adopt != apis.AdoptAlways && revisionIn(a.spec["source"]) != revisionIn(string(app.Spec.Raw)) ||
		adopt != apis.AdoptAlways && a.owner() != client.ObjectKeyFromObject(app)
}

// hasFinalizersOf reports whether an Application has the finalizers of the hub Application, and otherwise only handmade
// finalizers.
func (a *placed) hasFinalizersOf(app *argocd.Application) bool {
	for _, f := range app.Finalizers {
		if !slices.Contains(a.finalizers, f) {
			return false
		}
	}
	return !slices.ContainsFunc(a.finalizers, func(f string) bool {
		return !slices.Contains(app.Finalizers, f) && !a.managers["finalizer:"+f]["kubectl"]
	})
}

// revisionIn returns the targetRevision in a source.
func revisionIn(source string) string {
	_, rest, _ := strings.Cut(source, `"targetRevision":"`)
	revision, _, _ := strings.Cut(rest, `"`)
	return revision
}

// delivered checks that an Application runs at its target, and elsewhere only in a place left by an older controller.
func (o *oracle) delivered(app *argocd.Application, works []*workv1.ManifestWork) {
	at := key{Namespace: app.Namespace, Name: app.Name}
	if c := o.world.cluster(app.Cluster()); o.refused(c, app) {
		return
	}
	kept := func(w *workv1.ManifestWork) bool { return w.Namespace != app.Cluster() && work.ByOlder(w) }
	sent := slices.ContainsFunc(works, func(w *workv1.ManifestWork) bool { return w.Namespace == app.Cluster() })
	if app.Annotations[apis.AnnotationMoveOrder] == apis.MoveOldFirst && !sent && slices.ContainsFunc(works, kept) {
		return // a person must remove the copy from the older controller
	}
	works = slices.DeleteFunc(slices.Clone(works), kept)
	if len(works) != 1 || works[0].Namespace != app.Cluster() || works[0].Name != work.Name(app) || works[0].DeletionTimestamp != nil {
		o.world.fail("rest", "%s has %d works", at, len(works))
		return
	}
	c := o.world.cluster(app.Cluster())
	a := c.apps[key{Namespace: app.ClusterNamespace(), Name: app.Name}]
	applied := c.applied[works[0].Name]
	switch {
	case a == nil:
		o.world.fail("rest", "%s is not on %s", at, c.name)
	case o.contenders[place{c.name, at}] != "" && o.contested(at, app): // two leaders sent two Applications to one target
	case applied == nil || !slices.Contains(a.owners, applied.uid), len(a.owners) > 1:
		o.world.fail("rest", "%s on %s has the owners %v", at, c.name, a.owners)
	case a.deleting || !a.hasFinalizersOf(app):
		o.world.fail("rest", "%s on %s has the finalizers %v, deleting %t", at, c.name, a.finalizers, a.deleting)
	case app.Operation != nil && !odd(app.Operation):
		o.world.fail("rest", "%s still asks for the operation %s", at, app.Operation.Raw)
	case app.Refresh() != "":
		o.world.fail("rest", "%s still asks for a refresh", at)
	case a.operation != "" || a.annotations[apis.AnnotationRefresh] != "":
		o.world.fail("rest", "%s on %s has the operation %q and refresh %q", at, c.name, a.operation, a.annotations[apis.AnnotationRefresh])
	case c.deployed[a.key] == nil:
		o.world.fail("rest", "%s runs nowhere", at)
	case a.state != nil && app.Status.ReconciledAt < a.state.finishedAt || app.Status.ReconciledAt > a.reconciledAt:
		o.world.fail("rest", "%s shows a comparison at %q, %s has made one at %q, and an operation ended at %q",
			at, app.Status.ReconciledAt, c.name, a.reconciledAt, ptr.Deref(a.state, operationState{}).finishedAt)
	case a.automated() != strings.HasSuffix(revisionIn(string(app.Spec.Raw)), auto) && len(a.managers["spec:syncPolicy"]) < 2:
		o.world.fail("rest", "%s on %s is automated: %t", at, c.name, a.automated())
	case !o.watched(work.WatchPlace(app)):
		o.world.fail("rest", "%s on %s is not watched by the work agent", at, c.name)
	default:
		o.arrived(app, c, a)
	}
	o.nothingManaged(at, a)
}

// watched reports whether a work lets the work agent watch a place. The agent would otherwise report a change seconds
// later.
func (o *oracle) watched(place string) bool {
	for _, w := range o.world.hub.objects[works] {
		if work.Watches(w.Object.(*workv1.ManifestWork)) == place {
			return true
		}
	}
	return false
}

// arrived checks the law "arrives": each field of the hub's spec, except for the destination, arrives with the same
// type. An Application that reads through the hub has the addresses at the cluster's agent.
func (o *oracle) arrived(app *argocd.Application, c *cluster, a *placed) {
	var spec map[string]json.RawMessage
	must(json.Unmarshal(app.Spec.Raw, &spec))
	delete(spec, "destination")
	if at := (managedcluster.Facts{}).Reading(app).SourceAddress; at != "" {
		must(source.Through(at, app.Project(), spec))
	}
	for _, field := range sortedNames(spec) {
		if there, wanted := a.spec[field], canonical(spec[field]); there != wanted {
			o.world.fail("arrives", "%s on %s has %s: %s, the hub says %s", app.Name, c.name, field, there, wanted)
		}
	}
}

// quiet is called when no process has work left. All requests have been handled then, except for waits for an
// unavailable cluster or for a time.
func (o *oracle) quiet() {
	o.single()
	for _, c := range o.world.clusters {
		if !c.connected || c.failing || len(c.later) > 0 {
			return
		}
	}
	for _, w := range o.world.hub.objects[works] {
		if w.GetDeletionTimestamp() != nil {
			return
		}
	}
	clear(o.late)
	for there, name := range o.unknown {
		c := o.world.cluster(there.cluster)
		if a := c.apps[there.at]; a == nil || !a.isOf(name) || o.brings(c, name, there.at) {
			delete(o.unknown, there)
		}
	}
	for _, r := range o.apps {
		r.sent = r.sent || !r.gone && !released(r.app)
	}
	o.commits()
}

// single checks the law "single": two works of an Application do not both deliver to one place of a cluster. Each work
// would revert the content of the other work whenever the agent applies the works again.
func (o *oracle) single() {
	for _, c := range o.world.clusters {
		if !c.connected || c.failing || len(c.later) > 0 {
			continue
		}
		for _, at := range sortedKeys(c.apps) {
			a := c.apps[at]
			if r := o.apps[a.owner()]; len(a.owners) < 2 || r == nil || r.gone || !o.waitsForDelivery(r.app, c) {
				continue
			}
			delivers := func(w *workv1.ManifestWork) bool {
				return w.Namespace == c.name && w.DeletionTimestamp == nil && work.CarriesTo(w, at) && !work.Released(w) &&
					!work.IsReadOnly(w) && work.Outcome(w) == metav1.ConditionTrue
			}
			if both := slices.DeleteFunc(o.worksOf(a.owner()), func(w *workv1.ManifestWork) bool { return !delivers(w) }); len(both) > 1 {
				o.world.fail("single", "%s on %s has the works %s and %s", a.owner(), c.name, both[0].Name, both[1].Name)
			}
		}
	}
}

// waitsForDelivery reports whether an Application asks for its delivery, and no pause stops Towline on a cluster.
func (o *oracle) waitsForDelivery(app *argocd.Application, c *cluster) bool {
	for _, name := range []string{c.name, app.Cluster()} {
		if paused(app, o.world.hub.objects[clusterNamespaces][key{Name: name}]) {
			return false
		}
	}
	return app.DeletionTimestamp == nil && (!released(app) || undecided(app)) && !argocd.Paused(o.setOf(app, nil))
}
