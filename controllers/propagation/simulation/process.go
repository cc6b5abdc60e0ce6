package simulation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/controllers/internal/wake"
	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/controllers/status"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
)

// stream is what one watch of a process follows. All but the last are the kinds of the shared cache.
type stream int

const unlabelled = stream(kinds)

// process is one Towline: a cache of each kind that lags by itself, queues, and the controllers that ship.
type process struct {
	world *World
	name  string

	// clock is how far its clock is from the world's.
	clock time.Duration

	// leads is set while its controllers run. Its caches follow always.
	leads bool

	at      [kinds + 1]int
	cached  [kinds]map[key]*item
	hidden  map[key]*item // what the watch of the Applications without the label has
	indexes *indexers

	sender   *propagation.Reconciler
	reporter *status.Reconciler
	wakes    [kinds + 1][]wake.Watch
	sends    *queue
	reports  *queue

	call *call // the reconcile that is on its way
}

// call is a reconcile on its way.
type call struct {
	step  *Step
	reads int
	seen  [kinds]map[key]*item // what it has read of what users say

	// dropped are the clusters that a Placement was told to drop when its decisions were read.
	dropped map[string]bool

	// behind is set where its cache did not have the AppProjects yet when it began.
	behind bool
}

var errCrash = errors.New("the process ends here")

// start is a start of the program: nothing is remembered, and the caches list what is there.
func (p *process) start() {
	p.call = nil
	p.sends, p.reports = newQueue(p), newQueue(p)
	p.hidden = map[key]*item{}
	for k := range p.cached {
		p.cached[k] = map[key]*item{}
	}
	p.build()
	p.relist()
	p.findOlder()
}

// build makes the controllers.
func (p *process) build() {
	c := &cachedClient{p: p}
	live := &liveReader{p: p}
	checker := &grants.Checker{
		Reader: c, Clusters: p.world.options.Clusters, ArgoCDNamespace: argoNamespace,
		NamespaceRules: p.world.rules,
	}
	p.indexes = p.world.indexes
	if p.indexes == nil {
		p.indexes = &indexers{}
		must(index.Add(context.Background(), p.indexes))
		must(checker.Setup(context.Background(), p.indexes, func() error { return index.AddDecisions(context.Background(), p.indexes) }))
		p.world.indexes = p.indexes
	}
	if !p.leads {
		p.sender, p.reporter, p.wakes = nil, nil, [kinds + 1][]wake.Watch{} // it is started when it is to lead
		return
	}
	p.sender = &propagation.Reconciler{
		Client: c, Live: live, Grants: checker, Pauses: &pause.Reader{Reader: c}, Events: noEvents{},
		Options: delivery.Options{
			Adopt: apis.AdoptMatching, Move: delivery.MoveOptions{Timeout: moveTimeout}, AfterRestore: delivery.AfterRestoreHold,
			Revocation: delivery.RevocationOptions{Delete: p.world.options.DeleteOnRevocation, Limit: p.world.options.Limit},
		},
		Dependencies: dependencies{p.world},
		Now:          p.now, NewIdentity: p.world.newID, Decided: p.world.decided,
	}
	p.reporter = &status.Reconciler{
		Client: c, Live: live, Inventory: &resourcesync.Inventory{Sources: []resourcesync.Source{&resourcesync.Feedback{Client: c}}},
	}
	p.wakes = [kinds + 1][]wake.Watch{}
	for _, s := range p.sender.Watches() {
		k := kindOf(s.Object)
		p.wakes[k] = append(p.wakes[k], s)
	}
	p.wakes[applicationSets] = propagation.Sets(p.sender)
	p.wakes[unlabelled] = []wake.Watch{propagation.Unlabelled()}
}

// clone is the process as it is, in a clone of its world.
func (p *process) clone(w *World) *process {
	out := &process{world: w, name: p.name, clock: p.clock, leads: p.leads, at: p.at, hidden: copied(p.hidden)}
	for k := range p.cached {
		out.cached[k] = copied(p.cached[k])
	}
	out.build()
	if out.sender != nil && p.sender != nil {
		propagation.Remember(out.sender, p.sender)
	}
	out.sends, out.reports = p.sends.clone(out), p.reports.clone(out)
	return out
}

func (q *queue) clone(p *process) *queue {
	return &queue{p: p, ready: slices.Clone(q.ready), later: copied(q.later), failures: copied(q.failures)}
}

func (p *process) now() time.Time { return p.world.now.Add(p.clock) }

// relist is what an informer does when it starts, or has lost its watch: it lists, and tells of the difference.
func (p *process) relist() {
	for k := range kinds {
		p.at[k] = len(p.world.hub.log[k])
		for _, at := range sortedKeys(p.cached[k]) {
			if p.world.hub.objects[k][at] == nil {
				p.tell(k, change{at, p.cached[k][at], nil})
			}
		}
		for _, at := range sortedKeys(p.world.hub.objects[k]) {
			p.tell(k, change{at, nil, p.world.hub.objects[k][at]})
		}
	}
	p.at[unlabelled] = len(p.world.hub.log[applications])
	for _, at := range sortedKeys(p.hidden) {
		if p.world.hub.objects[applications][at] == nil {
			p.tellHidden(change{at, p.hidden[at], nil})
		}
	}
	for _, at := range sortedKeys(p.world.hub.objects[applications]) {
		p.tellHidden(change{at, nil, p.world.hub.objects[applications][at]})
	}
}

// behind tells whether a stream has changes to tell of.
func (p *process) behind(s stream) bool {
	if s == unlabelled {
		return p.at[s] < len(p.world.hub.log[applications])
	}
	return p.at[s] < len(p.world.hub.log[s])
}

// deliver tells of the next change of a stream.
func (p *process) deliver(s stream) {
	if s == unlabelled {
		p.at[s]++
		p.tellHidden(p.world.hub.log[applications][p.at[s]-1])
		return
	}
	p.at[s]++
	p.tell(kind(s), p.world.hub.log[s][p.at[s]-1])
}

// selected tells whether the shared cache holds an object: Applications and works by their label.
func selected(k kind, i *item) bool {
	if i == nil || k != applications && k != works {
		return i != nil
	}
	_, has := i.GetLabels()[apis.LabelPull]
	return has
}

func (p *process) tell(k kind, c change) {
	before, after := p.cached[k][c.key], c.after
	if !selected(k, after) {
		after = nil
	}
	if after != nil {
		p.cached[k][c.key] = after
	} else {
		delete(p.cached[k], c.key)
		if before != nil && c.after == nil && c.before != nil {
			before = c.before // the last state of what has gone
		}
	}
	if !p.leads {
		return
	}
	p.dispatch(p.wakes[k], before, after)
	p.wakeReporter(k, before, after)
}

// tellHidden tells of the metadata of Applications without the pull label.
func (p *process) tellHidden(c change) {
	before := p.hidden[c.key]
	var after *item
	if c.after != nil && !selected(applications, c.after) {
		m := &metav1.PartialObjectMetadata{ObjectMeta: *objectMeta(c.after.Object)}
		out, err := trim.Outline(m)
		must(err)
		after = &item{Object: out.(client.Object)}
		p.hidden[c.key] = after
	} else {
		delete(p.hidden, c.key)
	}
	if p.leads {
		p.dispatch(p.wakes[unlabelled], before, after)
	}
}

// dispatch sends a change through the predicates and mappings that ship.
func (p *process) dispatch(to []wake.Watch, before, after *item) {
	ctx := p.world.ctx
	for _, s := range to {
		switch {
		case before == nil && after == nil:
		case before == nil:
			e := event.CreateEvent{Object: after.Object}
			if all(s.Changed, func(q predicate.Predicate) bool { return q.Create(e) }) {
				s.Handler.Create(ctx, e, p.sends)
			}
		case after == nil:
			e := event.DeleteEvent{Object: before.Object}
			if all(s.Changed, func(q predicate.Predicate) bool { return q.Delete(e) }) {
				s.Handler.Delete(ctx, e, p.sends)
			}
		default:
			e := event.UpdateEvent{ObjectOld: before.Object, ObjectNew: after.Object}
			if all(s.Changed, func(q predicate.Predicate) bool { return q.Update(e) }) {
				s.Handler.Update(ctx, e, p.sends)
			}
		}
	}
}

func all(predicates []predicate.Predicate, pass func(predicate.Predicate) bool) bool {
	return !slices.ContainsFunc(predicates, func(q predicate.Predicate) bool { return !pass(q) })
}

// wakeReporter wakes the status controller by every change of an Application and by every report on its work.
func (p *process) wakeReporter(k kind, before, after *item) {
	if after == nil {
		return
	}
	switch k {
	case applications:
		p.reports.Add(request(client.ObjectKeyFromObject(after)))
	case works:
		if before != nil && sameStatus(before, after) {
			return
		}
		for _, at := range index.ApplicationsOfWork(p.world.ctx, &cachedClient{p: p}, client.ObjectKeyFromObject(after)) {
			p.reports.Add(request(at))
		}
	}
}

func request(at key) reconcile.Request { return reconcile.Request{NamespacedName: at} }

// reconcile runs one request of propagation to its end, or to where the step says that the process ends.
func (p *process) reconcile(at key, s *Step) (crashed bool) {
	p.sends.take(at)
	p.call = &call{step: s, behind: p.behind(stream(projects))}
	defer func() {
		p.call = nil
		if r := recover(); r != nil {
			if err, ok := r.(error); !ok || !errors.Is(err, errCrash) {
				panic(r)
			}
			crashed = true
		}
	}()
	result, err := p.sender.Reconcile(p.world.ctx, request(at))
	p.sends.done(at, result, err)
	return false
}

func (p *process) report(at key) {
	p.reports.take(at)
	result, err := p.reporter.Reconcile(p.world.ctx, request(at))
	p.reports.done(at, result, err)
}

// meanwhile is where a reconcile reads or writes: whatever the step says happens before that.
func (p *process) meanwhile() {
	if c := p.call; c != nil {
		c.reads++
		if c.step != nil && c.step.At == c.reads && len(c.step.Inner) > 0 {
			p.call = nil // others have calls of their own
			for i := range c.step.Inner {
				p.world.do(&c.step.Inner[i])
			}
			p.call = c
		}
	}
}

// write is a write of the process, with what the step has go wrong with it.
func (p *process) write(do func() error) error {
	p.meanwhile()
	fault := noFault
	if c := p.call; c != nil && c.step != nil && c.step.Fault != noFault && c.reads >= c.step.At {
		fault, c.step = c.step.Fault, nil
		p.world.stats.faults[fault]++
	}
	switch fault {
	case crashBefore:
		panic(errCrash)
	case conflict:
		return apierrors.NewConflict(p.world.hub.resource(applications), "any", errors.New("somebody was faster"))
	}
	err := do()
	switch fault {
	case crashAfter:
		panic(errCrash)
	case lostAnswer:
		return apierrors.NewTimeoutError("the answer was lost", 1)
	}
	return err
}

// cachedClient is the client of a process: it reads its cache and writes to the hub.
type cachedClient struct {
	client.Client
	p *process
}

// Get implements client.Reader.
func (c *cachedClient) Get(_ context.Context, at key, obj client.Object, opts ...client.GetOption) error {
	c.p.meanwhile()
	k := kindOf(obj)
	found := c.p.cached[k][at]
	c.p.reads(k, at, found, false)
	if found == nil {
		return notFound[k]
	}
	answer(found.Object, obj, shares(opts))
	return nil
}

// shares tells whether who reads an object does not change it.
func shares(opts []client.GetOption) bool {
	var o client.GetOptions
	o.ApplyOptions(opts)
	return o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
}

// List implements client.Reader.
func (c *cachedClient) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.p.meanwhile()
	k := kindOf(list)
	found, shared := c.p.indexes.find(k, c.p.cached[k], opts)
	answerList(found, list, shared)
	return nil
}

// Create implements client.Writer.
func (c *cachedClient) Create(_ context.Context, obj client.Object, opts ...client.CreateOption) error {
	var o client.CreateOptions
	o.ApplyOptions(opts)
	if len(o.DryRun) > 0 {
		return c.p.world.hub.create(kindOf(obj), obj, true)
	}
	return c.p.write(func() error {
		if err := c.p.world.hub.create(kindOf(obj), obj, false); err != nil {
			return err
		}
		c.p.world.oracle.sends(c.p, nil, obj)
		return nil
	})
}

// Patch implements client.Writer.
func (c *cachedClient) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.p.write(func() error {
		before := c.p.world.hub.get(kindOf(obj), client.ObjectKeyFromObject(obj))
		if err := c.p.world.hub.patch(kindOf(obj), obj, patch); err != nil {
			return err
		}
		c.p.world.oracle.sends(c.p, before, obj)
		return nil
	})
}

// Delete implements client.Writer.
func (c *cachedClient) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	return c.p.write(func() error {
		err := c.p.world.hub.remove(kindOf(obj), client.ObjectKeyFromObject(obj), o.Preconditions)
		if w, ok := obj.(*workv1.ManifestWork); ok && err == nil {
			c.p.world.oracle.asked(c.p, w)
		}
		return err
	})
}

// liveReader reads past the cache.
type liveReader struct{ p *process }

// Get implements client.Reader.
func (l *liveReader) Get(_ context.Context, at key, obj client.Object, opts ...client.GetOption) error {
	l.p.meanwhile()
	k := kindOf(obj)
	found := l.p.world.hub.objects[k][at]
	l.p.reads(k, at, found, true)
	if found == nil {
		return notFound[k]
	}
	answer(found.Object, obj, shares(opts))
	return nil
}

// List implements client.Reader.
func (l *liveReader) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	l.p.meanwhile()
	k := kindOf(list)
	if k == decisions && l.p.call != nil {
		l.p.call.dropped = copied(l.p.world.follower.dropped)
	}
	found, shared := l.p.indexes.find(k, l.p.world.hub.objects[k], opts)
	answerList(found, list, shared)
	return nil
}

// noEvents records nothing.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// queue is a work queue whose order and pace the world decides.
type queue struct {
	p        *process
	ready    []key
	later    map[key]time.Time
	failures map[key]int
}

func newQueue(p *process) *queue {
	return &queue{p: p, later: map[key]time.Time{}, failures: map[key]int{}}
}

func (q *queue) take(at key) {
	q.ready = slices.DeleteFunc(q.ready, func(k key) bool { return k == at })
}

// done is what controller-runtime does with the outcome of a reconcile.
func (q *queue) done(at key, result ctrl.Result, err error) {
	switch {
	case err != nil, result.Requeue: //nolint:staticcheck // propagation asks for the queue's own pace
		q.AddRateLimited(request(at))
	case result.RequeueAfter > 0:
		delete(q.failures, at)
		q.AddAfter(request(at), result.RequeueAfter)
	default:
		delete(q.failures, at)
	}
}

// due moves what has waited long enough to what is ready.
func (q *queue) due() {
	if len(q.later) == 0 {
		return
	}
	for _, at := range sortedKeys(q.later) {
		if !q.later[at].After(q.p.world.now) {
			delete(q.later, at)
			q.Add(request(at))
		}
	}
}

// Add implements workqueue.TypedInterface.
func (q *queue) Add(r reconcile.Request) {
	if !slices.Contains(q.ready, r.NamespacedName) {
		q.ready = append(q.ready, r.NamespacedName)
	}
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue) AddAfter(r reconcile.Request, after time.Duration) {
	if after <= 0 {
		q.Add(r)
		return
	}
	at := q.p.world.now.Add(after)
	if known, ok := q.later[r.NamespacedName]; !ok || at.Before(known) {
		q.later[r.NamespacedName] = at
	}
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface, with the pace of package retry.
func (q *queue) AddRateLimited(r reconcile.Request) {
	n := q.failures[r.NamespacedName]
	q.failures[r.NamespacedName]++
	q.AddAfter(r, min(time.Minute, 100*time.Millisecond<<min(n, 12)))
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue) Forget(r reconcile.Request) { delete(q.failures, r.NamespacedName) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue) NumRequeues(r reconcile.Request) int { return q.failures[r.NamespacedName] }

// Len implements workqueue.TypedInterface.
func (q *queue) Len() int { return len(q.ready) }

// Get implements workqueue.TypedInterface; the world takes from the queue itself.
func (q *queue) Get() (reconcile.Request, bool) { panic("the world takes from the queue") }

// Done implements workqueue.TypedInterface.
func (q *queue) Done(reconcile.Request) {}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *queue) ShutDownWithDrain() {}

// ShuttingDown implements workqueue.TypedInterface.
func (q *queue) ShuttingDown() bool { return false }

func compareKeys(a, b key) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

func sortedKeys[V any](m map[key]V) []key { return sorted(m, compareKeys) }

func sortedNames[V any](m map[string]V) []string { return sorted(m, strings.Compare) }

// sorted are the keys of a map in order. Most maps have one or none.
func sorted[K comparable, V any](m map[K]V, compare func(K, K) int) []K {
	if len(m) == 0 {
		return nil
	}
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	if len(out) > 1 {
		slices.SortFunc(out, compare)
	}
	return out
}

func labelsOf(i *item) labels.Set { return i.GetLabels() }

func sameStatus(before, after *item) bool {
	a, b := before.Object.(*workv1.ManifestWork), after.Object.(*workv1.ManifestWork)
	x, y := a.Status.ResourceStatus.Manifests, b.Status.ResourceStatus.Manifests
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0]) // an agent writes all of it anew
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func silent() context.Context { return logr.NewContext(context.Background(), logr.Discard()) }
