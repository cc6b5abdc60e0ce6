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
	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

const (
	argoNamespace = "argocd"
	moveTimeout   = 5 * time.Minute
)

// Options are what a world is made of.
type Options struct {
	// Names are the clusters.
	Names []string

	// Clusters is who may send to them, one of grants.ClusterModes; empty for anyone.
	Clusters string

	// DeleteOnRevocation is propagation's.
	DeleteOnRevocation bool

	// Hub is the cluster that is the hub itself; empty for none.
	Hub string

	// SameNames lets all works of Applications of one name have one name.
	SameNames bool

	// Limit is how many works may lose their right at a time; 0 for the default.
	Limit int

	// Plans is set to keep a digest of all plans that are made.
	Plans bool

	// AsSeen judges what the controller destroys by what it has read of the user's word, not by the user's last word:
	// the time between the two is the cache's, and is not held against it.
	AsSeen bool

	// stored is told of each version of an object that the hub stores; nil for nobody.
	stored func(client.Object)
}

// World is a hub with clusters, users and one or more Towlines. Everything in it happens in steps, one after the other.
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

	// holding are the gates that hold.
	holding map[holding]bool

	// plans is the digest of the plans so far.
	plans digest

	// follower is an ApplicationSet that follows a Placement, with what is known of both.
	follower follower

	// backup is the last one of the hub.
	backup *snapshot

	// refusing are the rules that say no, or have, and entangled the clusters where what Applications use would go with them.
	refusing  map[string]refusal
	entangled map[string]bool

	// disaster is set when a cluster or the hub has lost what it had.
	disaster bool

	// ruled is set when those who rule the hub have done something.
	ruled bool

	// rules are what Towline is started with: which namespaces Applications may choose.
	rules []authorization.NamespaceRule

	// comparing is set while Argo CD's periodic comparison is due everywhere.
	comparing bool

	failure *Failure
	steps   int

	// resting is set when users and faults have stopped.
	resting bool
}

// Failure is a law that was broken.
type Failure struct {
	// Law is the name of the law.
	Law string

	// What says what happened.
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

// New is a world at its beginning.
func New(o Options) *World {
	if o.Clusters == "" {
		o.Clusters = grants.None
	}
	w := &World{options: o, ctx: silent(), now: begin, stats: newStats(), refusing: map[string]refusal{}, entangled: map[string]bool{}}
	w.oracle = &oracle{world: w, apps: map[key]*record{}, ran: map[string]string{}, late: map[place]bool{}, forfeited: map[place]bool{},
		unknown: map[spot]string{},
		raced:   map[place]bool{}, beside: map[place]string{}}
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

// join makes a ManagedCluster that is accepted and available, and its namespace.
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
	namespace := hubside.Namespace()
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

// advance lets time pass.
func (w *World) advance(d time.Duration) {
	w.now = w.now.Add(d)
	if d >= time.Second { // OCM's placement controller hears of a cluster that comes or goes
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

// settleLimit is after how many rounds a world that has not come to rest never will.
const settleLimit = 60

// settle lets everybody do what they have to do, in turn, until nobody has any more.
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

// round is one turn of everybody. It tells whether anybody had anything to do.
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

// drain reconciles all that is ready.
func (p *process) drain() bool {
	busy := false
	for p.leads && p.call == nil && len(p.sends.ready) > 0 {
		busy = true
		p.reconcile(p.sends.ready[0], nil)
		p.world.tick()
	}
	for p.leads && len(p.reports.ready) > 0 {
		busy = true
		p.report(p.reports.ready[0])
	}
	return busy
}

// catchUp delivers all that the caches of a process are behind with.
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

// tick is how long a step takes.
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

// pass lets time go by in strides, and everybody act between them: what waits for a time is done then. A stride in which
// nobody waits for anything is a leap.
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

// awaits tells whether anybody waits for a time that comes so soon.
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

// patrol is when each work agent looks at everything again.
const patrol = 6 * time.Minute

// patrols lets that time come.
func (w *World) patrols() bool {
	if !w.settle() {
		return false
	}
	w.advance(patrol)
	return w.settle()
}

// compare is Argo CD's periodic comparison everywhere. It tells of the time, and so is a write.
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

// rest ends all faults, lets everything come to rest, and tells whether that is as the users have asked.
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

// unpause ends all pauses, and tells whether there was one.
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

// heal ends what goes wrong.
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

// String is the state of a world, for people.
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
