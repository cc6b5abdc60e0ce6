package bench

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/feedback"
)

// manifestWork is what is read of a ManifestWork.
type manifestWork struct {
	meta `json:"metadata"`
	Spec *workv1.ManifestWorkSpec `json:"spec"`

	// asksVolatile is set when it asks for what changes with every comparison.
	asksVolatile bool

	// asksCompared is set when it asks for a condition that tells whether the Application has been compared.
	asksCompared bool

	// wants is what it asks the cluster's Argo CD for, in a run of Endurance.
	wants wants

	// told are the metadata that came over a broker, and go back with each report.
	told *metav1.ObjectMeta
}

// asks tells whether an agent is to report a value.
func asks(spec *workv1.ManifestWorkSpec, name string) bool {
	if spec == nil {
		return false
	}
	for _, config := range spec.ManifestConfigs {
		for _, rule := range config.FeedbackRules {
			for _, path := range rule.JsonPaths {
				if path.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// asksCompared tells whether an agent is to report that condition.
func asksCompared(spec *workv1.ManifestWorkSpec) bool {
	return spec != nil && slices.ContainsFunc(spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool {
		return slices.ContainsFunc(c.ConditionRules, func(r workv1.ConditionRule) bool { return r.Condition == feedback.ConditionCompared })
	})
}

// there is an Application on its cluster.
type there struct {
	// mu is held while its agent reports.
	mu sync.Mutex

	// number is that of the last change; 0 is the first sync.
	number int

	// version counts the writes of its Argo CD; 0: it is not there yet.
	version int

	// startedAt and finishedAt are those of its last operation, changedAt is when its health changed last, and
	// reconciledAt when it was compared last.
	startedAt, finishedAt, changedAt, reconciledAt string

	// taken is the identity of that operation, if the hub has sent it.
	taken string

	// reported is the generation of the work that its agent has answered last.
	reported int64
}

// syncs lets the cluster's Argo CD carry out a sync without trouble.
func (t *there) syncs() {
	t.starts()
	t.finishes()
}

// starts lets the cluster's Argo CD begin a sync, and finishes lets it end and compare.
func (t *there) starts() { t.startedAt, t.finishedAt = now(), "" }

func (t *there) finishes() {
	at := now()
	t.finishedAt, t.changedAt, t.reconciledAt = at, at, at
}

// comes lets the cluster's Argo CD sync an Application for the first time.
func (t *there) comes() {
	t.taken = ""
	t.syncs()
}

// obeys lets the cluster's Argo CD do what a work asks for, if it has not.
func (t *there) obeys(w wants) {
	switch {
	case w.operation != "" && w.operation != t.taken:
		t.taken = w.operation
	case w.operation == "" && w.number > t.number:
		t.taken = ""
	default:
		return
	}
	t.number = w.number
	t.version++
	t.syncs()
}

// changes lets the cluster's Argo CD find something new that calls for no sync.
func (t *there) changes() { t.changedAt, t.reconciledAt = now(), now() }

// write changes an Application on its cluster, and lets its agent report all that the work asks for. Where nobody says that the report
// has arrived, it waits until the hub shows the change: agents that report at the same moment are as many as with the hub's API.
func (b *Bench) write(ctx context.Context, app, number int, change func(*there)) error {
	if err := b.change(ctx, app, number, change); err != nil || b.agents.heard() {
		return err
	}
	return b.status.waitFor(ctx, app)
}

func (b *Bench) change(ctx context.Context, app, number int, change func(*there)) error {
	t := &b.there[app]
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number = number
	t.version++
	change(t)
	return b.report(ctx, app, t)
}

// compare lets the cluster's Argo CD compare an Application and find nothing new: it writes reconciledAt, and its agent
// reports that where the work asks for it.
func (b *Bench) compare(ctx context.Context, app int) error {
	t := &b.there[app]
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version++
	t.reconciledAt = now()
	if !b.work(app).asksVolatile {
		return nil
	}
	return b.report(ctx, app, t)
}

// answer lets an agent apply its work as it is now, and report what that asks for. It (v1.2.0) may do so in two writes.
func (b *Bench) answer(ctx context.Context, app int) error {
	t := &b.there[app]
	t.mu.Lock()
	defer t.mu.Unlock()
	w := b.work(app)
	if t.version == 0 || t.reported == w.Generation {
		return nil
	}
	t.obeys(w.wants)
	return b.report(ctx, app, t)
}

// report has the agent of a work tell its status.
func (b *Bench) report(ctx context.Context, app int, t *there) error {
	w := b.work(app)
	t.reported = w.Generation
	b.reported.Add(1)
	return b.agents.report(ctx, w, workStatus(w, b.name(app), t))
}

// first lets an agent apply a work for the first time: the cluster's Argo CD syncs, and the agent reports that.
func (b *Bench) first(ctx context.Context, app int) error {
	w := b.work(app)
	return errors.Join(b.agents.take(ctx, w), b.write(ctx, app, w.wants.number, (*there).comes))
}

// expectFirst notes that the hub is to show the first sync of an Application, which it may do from that moment on.
func (b *Bench) expectFirst(app int, at time.Time) {
	b.status.sent(app, firstSync, at)
	b.reports.sent(app, firstSync, at)
}

// answers lets agents answer works that have come or changed, until ctx ends. The first reports, which may wait for the hub, hold up no
// others.
func (b *Bench) answers(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.forEach(ctx, b.came, b.first) })
	group.Go(func() error { return b.forEach(ctx, b.changed, b.answer) })
	return group.Wait()
}

// forEach does something for each Application of a channel, for so many at a time as there are agents, until ctx ends.
func (b *Bench) forEach(ctx context.Context, apps <-chan int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.Agents)
	for {
		select {
		case app := <-apps:
			group.Go(func() error { return do(ctx, app) })
		case <-ctx.Done():
			return group.Wait()
		}
	}
}

// compareAll lets the clusters compare every Application once in each period, one after the other, until ctx ends, and
// returns how often they did.
func (b *Bench) compareAll(ctx context.Context) (int, error) {
	if b.Comparison == 0 {
		<-ctx.Done()
		return 0, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.Agents)
	began, all := time.Now(), b.reporting()*b.Sets
	for n := 0; ; n++ {
		select {
		case <-time.After(time.Until(began.Add(time.Duration(n) * b.Comparison / time.Duration(all)))):
			group.Go(func() error { return b.compare(context.WithoutCancel(ctx), n%all) })
		case <-ctx.Done():
			return n, group.Wait()
		}
	}
}

// workStatus is what a work agent (v1.2.0) reports of an Application that has no trouble.
func workStatus(w *manifestWork, app string, t *there) object {
	whole := []object{
		condition("Applied", "AppliedManifestWorkComplete", "Apply manifest work complete", w.Generation),
		condition("Available", "ResourcesAvailable", "All resources are available", w.Generation),
	}
	one := []object{
		condition("Applied", "AppliedManifestComplete", "Apply manifest complete", w.Generation),
		condition("Available", "ResourceAvailable", "Resource is available", 0),
		condition("StatusFeedbackSynced", "StatusFeedbackSynced", "", 0),
	}
	if w.asksCompared {
		one = append(one, compared(t, workv1.ConditionRuleEvaluated, w.Generation))
		whole = append(whole, compared(t, "ConditionRulesAggregated", w.Generation))
	}
	return object{
		"conditions": whole,
		"resourceStatus": object{"manifests": []object{{
			"conditions": one,
			"resourceMeta": object{
				"group": "argoproj.io", "kind": "Application", "name": app, "namespace": namespace,
				"ordinal": 0, "resource": "applications", "version": "v1alpha1",
			},
			"statusFeedback": object{"values": values(t, w.asksVolatile)},
		}}},
	}
}

// compared is the condition that tells whether an Application has been compared since its last operation ended.
func compared(t *there, reason string, generation int64) object {
	c := condition(feedback.ConditionCompared, reason, t.finishedAt, generation)
	if t.finishedAt == "" {
		c["status"], c["message"] = "False", "not yet"
	}
	return c
}

func values(t *there, volatile bool) []object {
	text := func(name, s string) object {
		return object{"name": name, "fieldValue": object{"type": "String", "string": s}}
	}
	commit := commit
	if t.number > 0 {
		commit = revision(t.number)
	}
	out := []object{
		text("healthStatus", "Healthy"),
		text("syncStatus", "Synced"),
		text("operationStateStartedAt", t.startedAt),
		text("syncRevision", commit),
		text("uid", "6fbc2d0e-0000-4000-8000-000000000000"),
		text("finalizer", apis.FinalizerResources),
		text("healthLastTransitionTime", t.changedAt),
		text("operationStateSyncRevision", commit),
		{"name": "operationStateAutomated", "fieldValue": object{"type": "Boolean", "boolean": t.taken == ""}},
	}
	if t.taken != "" {
		out = append(out, text("operationTaken", t.taken))
	}
	if t.finishedAt == "" {
		out = append(out, text("operationStatePhase", "Running"))
	} else {
		out = append(out, text("operationStatePhase", "Succeeded"), text("operationStateFinishedAt", t.finishedAt),
			text("operationStateMessage", "successfully synced (all tasks run)"))
	}
	if volatile {
		out = append(out, text("resourceVersion", strconv.Itoa(1000+t.version)), text("reconciledAt", t.reconciledAt))
	}
	return out
}
