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

// manifestWork has the fields of a ManifestWork that the benchmark reads.
type manifestWork struct {
	meta `json:"metadata"`
	Spec *workv1.ManifestWorkSpec `json:"spec"`

	// asksVolatile is true if the work asks for the values that change with every comparison.
	asksVolatile bool

	// asksCompared is true if the work asks for the condition feedback.ConditionCompared.
	asksCompared bool

	// wants is the work's request to the cluster's Argo CD, in a run of Endurance.
	wants wants

	// told is the metadata from the broker. Each report returns the metadata.
	told *metav1.ObjectMeta
}

// asks returns whether an agent must report the value with the given name.
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

// asksCompared returns whether an agent must report the condition feedback.ConditionCompared.
func asksCompared(spec *workv1.ManifestWorkSpec) bool {
	return spec != nil && slices.ContainsFunc(spec.ManifestConfigs, func(c workv1.ManifestConfigOption) bool {
		return slices.ContainsFunc(c.ConditionRules, func(r workv1.ConditionRule) bool { return r.Condition == feedback.ConditionCompared })
	})
}

// there is an Application on its cluster.
type there struct {
	// mu is locked while the agent reports the Application.
	mu sync.Mutex

	// number is the number of the last change. 0 is the first sync.
	number int

	// version counts the writes of the cluster's Argo CD. 0 means that the Application does not exist yet.
	version int

	// startedAt and finishedAt are the times of the last operation. changedAt is the time of the last change of health,
	// and reconciledAt the time of the last comparison.
	startedAt, finishedAt, changedAt, reconciledAt string

	// taken is the identity of the last operation, if the hub has sent the operation.
	taken string

	// reported is the last generation of the work that the agent has answered.
	reported int64
}

// syncs plays a successful sync of the cluster's Argo CD.
func (t *there) syncs() {
	t.starts()
	t.finishes()
}

// starts plays the begin of a sync by the cluster's Argo CD. finishes plays its end and a comparison.
func (t *there) starts() { t.startedAt, t.finishedAt = now(), "" }

func (t *there) finishes() {
	at := now()
	t.finishedAt, t.changedAt, t.reconciledAt = at, at, at
}

// comes plays the first sync of an Application by the cluster's Argo CD.
func (t *there) comes() {
	t.taken = ""
	t.syncs()
}

// obeys plays the cluster's Argo CD: it fulfils the request of a work, unless it has fulfilled the request before.
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

// changes plays a comparison of the cluster's Argo CD with a new result that needs no sync.
func (t *there) changes() { t.changedAt, t.reconciledAt = now(), now() }

// write changes an Application on its cluster, and lets its agent report all requested values. If the arrival of the
// report cannot be observed, write waits until the hub shows the change. The number of parallel reports is then the
// same as with the hub's API.
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

// compare plays a comparison of the cluster's Argo CD without a new result: only reconciledAt changes. The agent
// reports reconciledAt if the work asks for it.
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

// answer lets an agent apply the current work and report the requested values. A real agent (v1.2.0) may use two
// writes.
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

// report lets the agent of a work write the work's status.
func (b *Bench) report(ctx context.Context, app int, t *there) error {
	w := b.work(app)
	t.reported = w.Generation
	b.reported.Add(1)
	return b.agents.report(ctx, w, workStatus(w, b.name(app), t))
}

// first lets an agent apply a work for the first time: the cluster's Argo CD syncs, and the agent reports the sync.
func (b *Bench) first(ctx context.Context, app int) error {
	w := b.work(app)
	return errors.Join(b.agents.take(ctx, w), b.write(ctx, app, w.wants.number, (*there).comes))
}

// expectFirst records that the hub must show the first sync of an Application, from the given time on.
func (b *Bench) expectFirst(app int, at time.Time) {
	b.status.sent(app, firstSync, at)
	b.reports.sent(app, firstSync, at)
}

// answers lets agents answer new and changed works, until ctx ends. First reports may wait for the hub, so they have a
// separate queue.
func (b *Bench) answers(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return b.forEach(ctx, b.came, b.first) })
	group.Go(func() error { return b.forEach(ctx, b.changed, b.answer) })
	return group.Wait()
}

// forEach calls do for each Application of a channel, until ctx ends. The number of parallel calls is Options.Agents.
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

// compareAll lets the clusters compare every Application once in each period, one after the other, until ctx ends. It
// returns the number of comparisons.
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

// workStatus returns the status that a work agent (v1.2.0) reports for a healthy Application.
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
		one = append(one, evaluated(t, workv1.ConditionRuleEvaluated, w.Generation)...)
		whole = append(whole, evaluated(t, "ConditionRulesAggregated", w.Generation)...)
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

// evaluated returns the conditions of feedback.ConditionRules.
func evaluated(t *there, reason string, generation int64) []object {
	is := func(name string, is bool) object {
		c := condition(name, reason, "Manifest is "+name, generation)
		if !is {
			c["status"], c["message"] = "False", "Manifest is not "+name
		}
		return c
	}
	return []object{is(feedback.ConditionCompared, t.finishedAt != ""), is(feedback.ConditionUnedited, true)}
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
		text("creationTimestamp", t.startedAt),
		text("agentAppliedAt", t.startedAt),
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
