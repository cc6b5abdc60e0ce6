package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
)

const (
	argoNamespace = "argocd"
	moveTimeout   = 5 * time.Minute
)

// Options are the settings of a world.
type Options struct {
	// Names are the names of the clusters.
	Names []string

	// Clusters decides which namespaces may send to the clusters, one of grants.ClusterModes; empty for all namespaces.
	Clusters string

	// DeleteOnRevocation is propagation's option for deletion after lost rights.
	DeleteOnRevocation bool

	// Hub is the name of the hub's own managed cluster; empty for none.
	Hub string

	// SameNames gives all works of Applications with the same name the same name.
	SameNames bool

	// Limit is the maximum number of works that may lose their right at a time; 0 for the default.
	Limit int

	// Plans is set to keep a digest of all plans.
	Plans bool

	// AsSeen judges the controller by the user's request as read, from the cache too, and not by the user's last
	// request. The controller is not blamed for the lag of the cache.
	AsSeen bool

	// stored is called with each stored version of an object; nil for no call.
	stored func(client.Object)

	// planned is called with each plan of Towline; nil for no call.
	planned func(app key, p *delivery.Plan)
}

// World is a hub with clusters, users and one or more Towlines. All events in a world are steps, one after the other.
type World struct {
	options Options
	ctx     context.Context //nolint:containedctx // one for all that happens in a world
	now     time.Time
	epoch   int
	ids     int

	hub       *hub
	indexes   *indexers
	processes []*process
	clusters  []*cluster
	oracle    *oracle
	stats     *stats

	// holding are the gates that block now.
	holding map[holding]bool

	// plans is the digest of the plans so far.
	plans digest

	// follower is an ApplicationSet with a Placement.
	follower follower

	// backup is the last backup of the hub.
	backup *snapshot

	// refusing are the rules that refuse now or refused earlier. entangled are the clusters where a deletion of works
	// would delete dependencies too.
	refusing  map[string]refusal
	entangled map[string]bool

	// disaster is set if a cluster or the hub has lost data.
	disaster bool

	// ruled is set after the first step of an administrator.
	ruled bool

	// rules are the start options of Towline about the namespaces that Applications may choose.
	rules []authorization.NamespaceRule

	// comparing is set while Argo CD's periodic comparison is due everywhere.
	comparing bool

	failure *Failure
	steps   int

	// resting is set after the end of user steps and faults.
	resting bool
}

// Failure is a broken law.
type Failure struct {
	// Law is the name of the law.
	Law string

	// What describes the event.
	What string
}

func (f *Failure) Error() string { return f.Law + ": " + f.What }

// fail notes the first failure.
func (w *World) fail(law, format string, args ...any) {
	if w.failure == nil {
		w.failure = &Failure{law, fmt.Sprintf(format, args...)}
	}
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// New returns a new world.
func New(o Options) *World {
	if o.Clusters == "" {
		o.Clusters = grants.None
	}
	w := &World{options: o, ctx: silent(), now: begin, stats: newStats(), refusing: map[string]refusal{}, entangled: map[string]bool{}}
	w.oracle = &oracle{world: w, apps: map[key]*record{}, ran: map[string]string{}, late: map[place]bool{}, forfeited: map[place]bool{},
		unknown: map[spot]string{},
		raced:   map[place]bool{}, contenders: map[place]string{}}
	w.hub = newHub(w)
	w.rule("wide")
	w.granting()
	for _, name := range o.Names {
		w.join(name)
		c := w.newCluster(name)
		c.older = len(w.clusters)%2 == 1
		w.clusters = append(w.clusters, c)
	}
	w.processes = []*process{{world: w, name: "a"}, {world: w, name: "b"}}
	w.processes[0].leads = true
	for _, p := range w.processes {
		p.start()
	}
	return w
}

// join creates an accepted and available ManagedCluster, and its namespace.
func (w *World) join(name string) {
	w.hub.namespaces[name] = true
	mc := &clusterv1.ManagedCluster{}
	mc.Name = name
	mc.Spec.HubAcceptsClient = true
	if name == w.options.Hub {
		mc.Labels = map[string]string{apis.LabelLocalCluster: "true"}
	}
	if w.options.Clusters != grants.None {
		mc.Labels = setLabel(mc.Labels, "")
	}
	mc.Status.Conditions = []metav1.Condition{
		{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, LastTransitionTime: w.metaNow()},
		{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, LastTransitionTime: w.metaNow()},
	}
	_ = w.hub.create(managedClusters, mc, false)
	namespace := settings.ClusterNamespace()
	namespace.Name = name
	_ = w.hub.create(clusterNamespaces, namespace, false)
}

func (w *World) metaNow() metav1.Time { return metav1.NewTime(w.now.Truncate(time.Second)) }

func (w *World) newID() string {
	w.ids++
	return fmt.Sprintf("id%d", w.ids)
}

func (w *World) cluster(name string) *cluster {
	for _, c := range w.clusters {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (w *World) process(name string) *process {
	for _, p := range w.processes {
		if p.name == name {
			return p
		}
	}
	return nil
}

// told is called for every write to the hub.
func (w *World) told(k kind, at key, before *item) {
	switch k {
	case works:
		if c := w.cluster(at.Namespace); c != nil {
			c.news[at.Name] = true
		}
	case applications:
		w.oracle.changed(at, before)
	}
}

// advance moves the time.
func (w *World) advance(d time.Duration) {
	w.now = w.now.Add(d)
	if d >= time.Second { // OCM's placement controller notices changed clusters
		w.place()
	}
	for _, p := range w.processes {
		p.sends.due()
		p.reports.due()
	}
	for _, c := range w.clusters {
		c.evict()
		for _, name := range sortedNames(c.later) {
			if r := c.later[name]; !r.at.After(w.now) {
				delete(c.later, name)
				c.todo[name] |= r.what
			}
		}
		if d >= 10*time.Second {
			for name := range c.seen {
				c.todo[name] |= reportStatus
			}
		}
		if d >= patrol {
			for name := range c.seen {
				c.todo[name] |= applyManifests
			}
		}
	}
}

// settleLimit is the number of rounds in which a world must come to rest.
const settleLimit = 60

// settle runs rounds until no controller and no agent has work left. It returns false after a failure.
func (w *World) settle() bool {
	for range settleLimit {
		if !w.round() {
			w.oracle.quiet()
			return true
		}
		if w.failure != nil {
			return false
		}
	}
	w.fail("rest", "it does not come to rest")
	return false
}

// round lets every process and every cluster act once. It reports whether any of them had work.
func (w *World) round() bool {
	busy := w.place()
	busy = w.generate() || busy
	for _, p := range w.processes {
		busy = p.catchUp() || busy
		busy = p.drain() || busy
	}
	for _, c := range w.clusters {
		busy = c.round() || busy
	}
	return busy
}

// drain reconciles all ready requests.
func (p *process) drain() bool {
	busy := false
	for p.leads && p.call == nil && len(p.sends.ready) > 0 {
		busy = true
		p.reconcile(p.sends.ready[0], nil)
		p.world.tick()
	}
	for p.leads && len(p.reports.ready) > 0 {
		busy = true
		p.report(p.reports.ready[0], nil)
	}
	return busy
}

// catchUp delivers all outstanding changes to the caches of a process.
func (p *process) catchUp() bool {
	busy := false
	for s := range kinds + 1 {
		for p.behind(stream(s)) {
			busy = true
			p.deliver(stream(s))
		}
	}
	return busy
}

// tick is the duration of a step.
func (w *World) tick() { w.advance(50 * time.Millisecond) }

func (c *cluster) round() bool {
	busy := false
	if c.connected {
		for _, name := range sortedNames(c.news) {
			busy = true
			c.hear(name)
		}
		for _, name := range sortedNames(c.todo) {
			for what := addFinalizer; what <= finalizeApplied; what <<= 1 {
				if c.todo[name]&what != 0 {
					busy = true
					c.work(name, what)
				}
			}
		}
	}
	if c.failing {
		return busy
	}
	for _, at := range sortedKeys(c.stirred) {
		busy = true
		c.argo(at, true)
	}
	if c.garbage {
		busy = true
		c.collect()
	}
	return busy
}

// pass moves the time in strides, and settles the world after each stride, to handle the expired waits. If no wait ends
// within a stride, only the clock moves.
func (w *World) pass(strides ...time.Duration) bool {
	for _, d := range strides {
		if !w.settle() {
			return false
		}
		if w.awaits(d) {
			w.advance(d)
		} else {
			w.now = w.now.Add(d)
		}
	}
	return w.settle()
}

// awaits reports whether a wait ends within the given time.
func (w *World) awaits(soon time.Duration) bool {
	until := w.now.Add(soon)
	for _, p := range w.processes {
		for _, at := range p.sends.later {
			if !at.After(until) {
				return true
			}
		}
		for _, at := range p.reports.later {
			if !at.After(until) {
				return true
			}
		}
	}
	for _, c := range w.clusters {
		for _, r := range c.later {
			if !r.at.After(until) {
				return true
			}
		}
		for _, a := range c.applied {
			if !a.deleting && !a.evicts.IsZero() && !a.evicts.After(until) {
				return true
			}
		}
	}
	return false
}

// patrol is the interval of the work agents' periodic resync.
const patrol = 6 * time.Minute

// patrols waits for the next periodic resync.
func (w *World) patrols() bool {
	if !w.settle() {
		return false
	}
	w.advance(patrol)
	return w.settle()
}

// compare is Argo CD's periodic comparison everywhere. The comparison writes its time, and so is a write.
func (w *World) compare() {
	for _, c := range w.clusters {
		for at := range c.apps {
			c.stirred[at] = true
		}
	}
	w.comparing = true
	w.settle()
	w.comparing = false
}

// rest ends all faults, lets the world come to rest, and checks the state against the requests of the users.
func (w *World) rest() {
	w.resting = true
	w.heal()
	if !w.pass(3*time.Second, 6*time.Second, 61*time.Second) || !w.patrols() {
		return
	}
	if w.unpause() && (!w.pass(6*time.Second) || !w.patrols()) {
		return
	}
	if !w.pass(61*time.Minute, 7*time.Minute) {
		return
	}
	w.compare()
	if !w.pass(7 * time.Minute) {
		return
	}
	before := w.hub.writes
	if !w.patrols() {
		return
	}
	if w.hub.writes != before {
		w.fail("rest", "%d writes to the hub after everything had come to rest", w.hub.writes-before)
	}
	w.oracle.atRest()
}

// unpause ends all pauses, and reports whether any pause existed.
func (w *World) unpause() bool {
	before := w.hub.writes
	for _, c := range w.clusters {
		w.do(&Step{Op: "pause-cluster", Who: c.name})
	}
	for _, at := range sortedKeys(w.hub.objects[applications]) {
		w.do(&Step{Op: "pause", Who: at.String()})
	}
	for _, at := range sortedKeys(w.hub.objects[applicationSets]) {
		w.do(&Step{Op: "pause-set", Who: at.Namespace})
	}
	return w.hub.writes != before
}

// heal ends all faults.
func (w *World) heal() {
	w.stopSets(false)
	for _, c := range w.clusters {
		if w.goes(c) {
			w.editCluster(c.name, func(mc *clusterv1.ManagedCluster) { mc.Finalizers = nil })
			w.detach(c)
		}
		c.failing = false
		w.do(&Step{Op: "join", Who: c.name})
		for _, at := range sortedKeys(c.apps) {
			c.handFinalizer(c.apps[at], false)
		}
		if !c.connected {
			w.do(&Step{Op: "connect", Who: c.name})
		}
	}
	w.reconciled()
	for i, p := range w.processes {
		p.clock = 0
		p.leads = p.leads && (i == 0 || !w.processes[0].leads)
	}
}

// String returns the state of a world, for people.
func (w *World) String() string {
	var b strings.Builder
	for _, at := range sortedKeys(w.hub.objects[applications]) {
		app := w.hub.get(applications, at).(*argocd.Application)
		fmt.Fprintf(&b, "hub application %s uid %s finalizers %v deleting %t annotations %v\n",
			at, app.UID, app.Finalizers, app.DeletionTimestamp != nil, app.Annotations)
		for _, c := range app.Status.Conditions {
			fmt.Fprintf(&b, "  %s: %s\n", c.Type, c.Message)
		}
	}
	for _, at := range sortedKeys(w.hub.objects[works]) {
		b.WriteString(workText(w.hub.get(works, at)))
	}
	for _, c := range w.clusters {
		fmt.Fprintf(&b, "cluster %s connected %t failing %t\n", c.name, c.connected, c.failing)
		for _, at := range sortedKeys(c.apps) {
			a := c.apps[at]
			fmt.Fprintf(&b, "  application %s uid %s finalizers %v owners %v deleting %t operation %q state %v\n",
				at, a.uid, a.finalizers, a.owners, a.deleting, a.operation, a.state)
		}
		for _, name := range sortedNames(c.applied) {
			fmt.Fprintf(&b, "  applied work %s %+v\n", name, *c.applied[name])
		}
		for _, at := range sortedKeys(c.deployed) {
			fmt.Fprintf(&b, "  workload %s of %s\n", c.deployed[at].uid, at)
		}
	}
	return b.String()
}
