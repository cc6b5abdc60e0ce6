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
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/controllers/status"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/delivery"
)

// stream is one watch of a process. All streams but the last are kinds of the shared cache.
type stream int

const unlabelled = stream(kinds)

// process is one Towline: a cache of each kind with its own lag, queues, and the shipped controllers.
type process struct {
	world *World
	name  string

	// clock is the difference between the clock of the process and the clock of the world.
	clock time.Duration

	// leads is set while the controllers run. The caches always follow the hub.
	leads bool

	at      [kinds + 1]int
	cached  [kinds]map[key]*item
	hidden  map[key]*item // cache of the Applications without the pull label
	indexes *indexers

	sender   *propagation.Reconciler
	reporter *status.Reconciler
	wakes    [kinds + 1][]loop.Watch
	sends    *queue
	reports  *queue

	call *call // the current reconcile

	made int // number of reads and writes of the last reconcile
}

// call is a reconcile in progress.
type call struct {
	step  *Step
	reads int
	seen  [kinds]map[key]*item // user-written objects read by the reconcile

	// dropped are the clusters removed from the Placement at the time when the reconcile read the decisions.
	dropped map[string]bool

	// behind is set if the cache lagged behind the AppProjects at the beginning of the reconcile, or if an AppProject has
	// changed since.
	behind bool
}

var errCrash = errors.New("the process ends here")

// start plays a start of the program: the memory is empty, and the caches list the existing objects.
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

// build creates the controllers.
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
		p.sender, p.reporter, p.wakes = nil, nil, [kinds + 1][]loop.Watch{} // start builds them when the process begins to lead
		return
	}
	p.sender = &propagation.Reconciler{
		Client: c, Live: live, Grants: checker, Pauses: &settings.Pauses{Reader: c}, Events: noEvents{},
		Options: delivery.Options{
			Adopt: apis.AdoptMatching, Move: delivery.MoveOptions{Timeout: moveTimeout}, AfterRestore: delivery.AfterRestoreHold,
			Revocation: delivery.RevocationOptions{Delete: p.world.options.DeleteOnRevocation, Limit: p.world.options.Limit},
		},
		Dependencies: dependencies{p.world},
		Now:          p.now, NewIdentity: p.world.newID, Decided: p.world.decided,
	}
	p.reporter = &status.Reconciler{
		Client: c, Live: live, Inventory: &resourcesync.Inventory{Sources: []resourcesync.Source{&resourcesync.Feedback{Client: c}}},
		Now: p.now,
	}
	p.wakes = [kinds + 1][]loop.Watch{}
	for _, s := range p.sender.Watches() {
		k := kindOf(s.Object)
		p.wakes[k] = append(p.wakes[k], s)
	}
	p.wakes[applicationSets] = propagation.Sets(p.sender)
	p.wakes[unlabelled] = []loop.Watch{propagation.Unlabelled()}
}

// clone returns a copy of the process, in a clone of the world.
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

// relist plays an informer at its start or after a broken watch: it lists the objects, and sends the differences as
// events.
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

// behind reports whether a stream has undelivered changes.
func (p *process) behind(s stream) bool {
	if s == unlabelled {
		return p.at[s] < len(p.world.hub.log[applications])
	}
	return p.at[s] < len(p.world.hub.log[s])
}

// deliver sends the next change of a stream.
func (p *process) deliver(s stream) {
	if s == unlabelled {
		p.at[s]++
		p.tellHidden(p.world.hub.log[applications][p.at[s]-1])
		return
	}
	p.at[s]++
	p.tell(kind(s), p.world.hub.log[s][p.at[s]-1])
}

// selected reports whether the shared cache holds an object. Applications and works are selected by label.
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
			before = c.before // the last state of the deleted object
		}
	}
	if !p.leads {
		return
	}
	p.dispatch(p.wakes[k], before, after)
	p.wakeReporter(k, before, after)
}

// tellHidden sends a change of the metadata of Applications without the pull label.
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

// dispatch sends a change through the shipped predicates and mappings.
func (p *process) dispatch(to []loop.Watch, before, after *item) {
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

// wakeReporter queues an Application for the status controller after every change of the Application, and after every
// report on its work.
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

// reconcile runs one request of propagation to the end, or until the crash in the step. It reports whether the process
// crashed.
func (p *process) reconcile(at key, s *Step) (crashed bool) {
	p.sends.take(at)
	p.call = &call{step: s, behind: p.behind(stream(projects))}
	defer func() {
		p.made, p.call = p.call.reads, nil
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

// report runs one request of the status controller.
func (p *process) report(at key, s *Step) {
	p.reports.take(at)
	p.call = &call{step: s, behind: p.behind(stream(projects))}
	result, err := p.reporter.Reconcile(p.world.ctx, request(at))
	p.made, p.call = p.call.reads, nil
	p.reports.done(at, result, err)
}

// meanwhile is called before each read or write of a reconcile. If the step has inner steps for this read or write,
// meanwhile first runs the inner steps.
func (p *process) meanwhile() {
	if c := p.call; c != nil {
		c.reads++
		if c.step != nil && c.step.At == c.reads && len(c.step.Inner) > 0 {
			p.call = nil // the inner steps have separate calls
			rules := len(p.world.hub.log[projects])
			for i := range c.step.Inner {
				p.world.do(&c.step.Inner[i])
			}
			p.call = c
			c.behind = c.behind || len(p.world.hub.log[projects]) > rules
		}
	}
}

// write is a write of the process, with the fault of the step.
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

// cachedClient is the client of a process: it reads from the cache and writes to the hub.
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

// shares reports whether the reader promises not to change the object.
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

// noEvents drops all events.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// queue is a work queue. The world decides about order and pace.
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

// done handles the result of a reconcile like controller-runtime.
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

// due moves the requests with a finished wait to the ready requests.
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

// AddRateLimited implements workqueue.TypedRateLimitingInterface, with the pace of package loop.
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

// Get implements workqueue.TypedInterface. It is never called, because the world takes requests directly from the
// queue.
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

// sorted returns the sorted keys of a map. Most maps have at most one key.
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
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0]) // an agent writes the whole slice again
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func silent() context.Context { return logr.NewContext(context.Background(), logr.Discard()) }
