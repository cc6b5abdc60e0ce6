package simulation

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// The work agent, by the rules of OCM v1.2.0, pkg/work/spoke.

// evictionGrace is the agent's default for --appliedmanifestwork-eviction-grace-period.
const evictionGrace = time.Hour

var errAPI = errors.New("the cluster's API server does not answer")

// hear copies the hub's current version of a work into the agent's cache, and queues the agent's controllers.
func (c *cluster) hear(name string) {
	delete(c.news, name)
	before := c.seen[name]
	now, ok := c.world.hub.get(works, key{Namespace: c.name, Name: name}).(*workv1.ManifestWork)
	if !ok {
		c.hearEnd(name)
		return
	}
	c.seen[name] = now
	if a := c.applied[name]; a != nil {
		a.evicts = time.Time{}
		if a.deleting {
			c.todo[name] |= finalizeApplied
		}
	}
	todo := addFinalizer | reportStatus | finalizeWork
	if hasFinalizer(now) && (before == nil || !hasFinalizer(before) || !sameSpecAndLabels(before, now)) {
		todo |= applyManifests
	}
	c.todo[name] |= todo
}

func sameSpecAndLabels(a, b *workv1.ManifestWork) bool {
	return a.UID == b.UID && maps.Equal(a.Labels, b.Labels) && a.Generation == b.Generation
}

func hasFinalizer(w *workv1.ManifestWork) bool {
	return slices.Contains(w.Finalizers, workv1.ManifestWorkFinalizer)
}

// work runs one of the agent's controllers for a work. A failed run is retried after a second.
func (c *cluster) work(name string, what controller) {
	c.todo[name] &^= what
	if c.todo[name] == 0 {
		delete(c.todo, name)
	}
	if err := c.run(name, what); err != nil {
		c.retry(name, what, time.Second)
	}
}

func (c *cluster) run(name string, what controller) error {
	w := c.seen[name]
	if what == finalizeApplied {
		return c.finalizeApplied(name)
	}
	if w == nil {
		return nil
	}
	switch what {
	case addFinalizer:
		if w.DeletionTimestamp.IsZero() && !hasFinalizer(w) {
			return c.world.hub.setFinalizers(w, append(slices.Clone(w.Finalizers), workv1.ManifestWorkFinalizer))
		}
	case applyManifests:
		return c.applyWork(w)
	case reportStatus:
		return c.reportStatus(w)
	case finalizeWork:
		return c.finalizeWork(w)
	}
	return nil
}

func (c *cluster) retry(name string, what controller, after time.Duration) {
	r := c.later[name]
	at := c.world.now.Add(after)
	if r.what == 0 || at.Before(r.at) {
		r.at = at
	}
	r.what |= what
	c.later[name] = r
}

// applyWork is the ManifestWorkController.
func (c *cluster) applyWork(w *workv1.ManifestWork) error {
	if !w.DeletionTimestamp.IsZero() || !hasFinalizer(w) || w.Labels["squatter"] != "" {
		return nil
	}
	applied := c.applied[w.Name]
	if applied == nil {
		if c.failing {
			return errAPI
		}
		applied = &appliedWork{uid: c.uid("applied") + "/" + w.Name}
		c.applied[w.Name] = applied
	}
	p, err := readPayload(applicationIn(w))
	must(err)
	a, failed := c.applyOne(w, p, applied)
	status := copyStatus(&w.Status)
	noteApplied(status, w, p, failed, c.world.metaNow())
	var conflicted conflictError
	var errs error
	if failed != nil && !errors.As(failed, &conflicted) {
		errs = failed
	}
	resources, err := c.track(applied, p, a)
	if err == nil {
		c.applySideManifests(w, applied)
	}
	errs = errors.Join(errs, err)
	if err := c.world.hub.setStatus(w, status); err != nil {
		return err
	}
	if err == nil {
		applied.resources = resources
	}
	return errs
}

// applyOne applies a manifest with the update strategy of the work. It then adds or removes the owner reference to the
// AppliedManifestWork.
func (c *cluster) applyOne(w *workv1.ManifestWork, p *payload, applied *appliedWork) (*placed, error) {
	if c.failing {
		return nil, errAPI
	}
	owns := w.Spec.DeleteOption == nil || w.Spec.DeleteOption.PropagationPolicy != workv1.DeletePropagationPolicyTypeOrphan
	option := optionOf(w, p.key)
	there := c.apps[p.key]
	kind := workv1.UpdateStrategyTypeUpdate
	if option != nil && option.UpdateStrategy != nil {
		kind = option.UpdateStrategy.Type
	}
	switch kind {
	case workv1.UpdateStrategyTypeReadOnly:
		return there, nil
	case workv1.UpdateStrategyTypeCreateOnly, workv1.UpdateStrategyTypeUpdate:
		if there == nil {
			there = c.createOne(p)
		} else if kind == workv1.UpdateStrategyTypeUpdate {
			c.updateOne(there, p)
		}
	case workv1.UpdateStrategyTypeServerSideApply:
		var err error
		if there, err = c.applyAs(p, option.UpdateStrategy.ServerSideApply); err != nil {
			return there, err
		}
	}
	c.own(there, applied.uid, owns)
	return there, nil
}

// createOne creates an Application from a manifest.
func (c *cluster) createOne(p *payload) *placed {
	a := c.place(p.key)
	for _, f := range p.fields {
		a.set(f.name, f.value)
		if f.isFinalizer() { // no server-side apply owns the finalizer: a person has to remove the finalizer on the cluster
			a.managers[f.name] = map[string]bool{"kubectl": true}
		}
	}
	c.world.oracle.applied(c, a, p, key{})
	c.touched(a)
	return a
}

// applyAs is a server-side apply with the options of the work; nil for the defaults. If the work ignores fields, an
// Application with the mark of the same payload is not applied again.
func (c *cluster) applyAs(p *payload, as *workv1.ServerSideApplyConfig) (*placed, error) {
	manager, force := workv1.DefaultFieldManager, false
	if as != nil {
		manager, force = cmp.Or(as.FieldManager, manager), as.Force
	}
	if as == nil || len(as.IgnoreFields) == 0 {
		return c.apply(p, manager, force)
	}
	if there := c.apps[p.key]; there != nil && there.annotations[workv1.ManifestConfigSpecHashAnnotationKey] == p.marked.value(mark) {
		return there, nil
	}
	return c.apply(p.marked, manager, force)
}

// updateOne is the strategy Update: labels and annotations are merged, finalizers stay, and all remaining fields are
// replaced.
func (c *cluster) updateOne(a *placed, p *payload) {
	before, owner := fmt.Sprint(a.spec, a.labels, a.annotations), a.owner()
	for f := range a.spec {
		if !p.has("spec:" + f) {
			a.unset("spec:" + f)
		}
	}
	for _, f := range p.fields {
		if !f.isFinalizer() {
			a.set(f.name, f.value)
		}
	}
	if before != fmt.Sprint(a.spec, a.labels, a.annotations) {
		c.world.oracle.applied(c, a, p, owner)
		c.touched(a)
	}
}

// optionOf is helper.FindManifestConfiguration.
func optionOf(w *workv1.ManifestWork, at key) *workv1.ManifestConfigOption {
	for i := range w.Spec.ManifestConfigs {
		if id := w.Spec.ManifestConfigs[i].ResourceIdentifier; id.Namespace == at.Namespace && id.Name == at.Name {
			return &w.Spec.ManifestConfigs[i]
		}
	}
	return nil
}

// copyStatus returns a copy with conditions for editing. Feedback values are shared with the original, because the
// simulation replaces values and never edits them.
func copyStatus(s *workv1.ManifestWorkStatus) *workv1.ManifestWorkStatus {
	out := *s
	out.Conditions = slices.Clone(s.Conditions)
	out.ResourceStatus.Manifests = slices.Clone(s.ResourceStatus.Manifests)
	for i := range out.ResourceStatus.Manifests {
		m := &out.ResourceStatus.Manifests[i]
		m.Conditions = slices.Clone(m.Conditions)
	}
	return &out
}

// noteApplied writes the conditions after an apply, and drops the status of all remaining manifests.
func noteApplied(status *workv1.ManifestWorkStatus, w *workv1.ManifestWork, p *payload, failed error, now metav1.Time) {
	id := workv1.ManifestResourceMeta{
		Group: argocd.GroupVersion.Group, Version: argocd.GroupVersion.Version, Kind: argocd.Kind, Resource: argocd.Resource,
		Namespace: p.Namespace, Name: p.Name,
	}
	manifest := workv1.ManifestCondition{ResourceMeta: id}
	for _, m := range status.ResourceStatus.Manifests {
		if m.ResourceMeta == id {
			manifest = m
		}
	}
	one := metav1.Condition{
		Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestComplete", Message: "Apply manifest complete",
		ObservedGeneration: w.Generation, LastTransitionTime: now,
	}
	whole := metav1.Condition{
		Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", Message: "Apply manifest work complete",
		ObservedGeneration: w.Generation, LastTransitionTime: now,
	}
	if failed != nil {
		one.Status, one.Reason, one.Message = metav1.ConditionFalse, "AppliedManifestFailed", "Failed to apply manifest: "+failed.Error()
		whole.Status, whole.Reason, whole.Message = metav1.ConditionFalse, "AppliedManifestWorkFailed", "Failed to apply manifest work"
	}
	meta.SetStatusCondition(&manifest.Conditions, one)
	meta.SetStatusCondition(&status.Conditions, whole)
	status.ResourceStatus.Manifests = []workv1.ManifestCondition{manifest}
}

// track is the appliedManifestWorkReconciler: it deletes the resources that are no longer in the work.
func (c *cluster) track(applied *appliedWork, p *payload, a *placed) ([]tracked, error) {
	if applied.deleting {
		return applied.resources, nil
	}
	if c.failing {
		return nil, errAPI
	}
	var resources []tracked
	if a == nil || c.apps[a.key] != a {
		a = c.apps[p.key]
	}
	if a != nil {
		resources = []tracked{{a.key, a.uid}}
	}
	var lost []tracked
	for _, t := range applied.resources {
		if a == nil || t.at != a.key {
			lost = append(lost, t)
		}
	}
	return append(resources, c.deleteTracked(applied, lost)...), nil
}

// deleteTracked is helper.DeleteAppliedResources. It returns the resources not gone yet.
func (c *cluster) deleteTracked(applied *appliedWork, resources []tracked) []tracked {
	var pending []tracked
	for _, t := range resources {
		a := c.apps[t.at]
		switch {
		case a == nil || !slices.Contains(a.owners, applied.uid):
		case len(a.owners) > 1:
			c.own(a, applied.uid, false)
		case a.uid != t.uid:
		case a.deleting:
			pending = append(pending, t)
		default:
			c.remove(a)
			pending = append(pending, t)
		}
	}
	return pending
}

// hearEnd tells the agent that the hub has no such work any more.
func (c *cluster) hearEnd(name string) {
	delete(c.seen, name)
	delete(c.todo, name)
	delete(c.later, name)
	a := c.applied[name]
	if a == nil {
		return
	}
	if a.evicts.IsZero() {
		a.evicts = c.world.now.Add(evictionGrace)
	}
	if a.deleting {
		c.todo[name] |= finalizeApplied
	}
}

// endApplied asks for the deletion of an AppliedManifestWork, and sets the condition of the deletion on the work.
func (c *cluster) endApplied(w *workv1.ManifestWork, applied *appliedWork) error {
	status := copyStatus(&w.Status)
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: workv1.WorkDeleting, Status: metav1.ConditionTrue, Reason: "WorkDeleting", Message: "ManifestWork is being deleted",
		ObservedGeneration: w.Generation, LastTransitionTime: c.world.metaNow(),
	})
	if err := c.world.hub.setStatus(w, status); err != nil {
		return err
	}
	if c.failing {
		return errAPI
	}
	applied.deleting = true
	c.todo[w.Name] |= finalizeApplied
	return nil
}

// finalizeWork is the ManifestWorkFinalizeController.
func (c *cluster) finalizeWork(w *workv1.ManifestWork) error {
	if w.DeletionTimestamp.IsZero() {
		return nil
	}
	if applied := c.applied[w.Name]; applied != nil {
		if !applied.deleting {
			if err := c.endApplied(w, applied); err != nil {
				return err
			}
		}
		c.retry(w.Name, finalizeWork, time.Second)
		return nil
	}
	return c.world.hub.setFinalizers(w, slices.DeleteFunc(slices.Clone(w.Finalizers), func(f string) bool {
		return f == workv1.ManifestWorkFinalizer
	}))
}

// finalizeApplied is the AppliedManifestWorkFinalizeController.
func (c *cluster) finalizeApplied(name string) error {
	applied := c.applied[name]
	if applied == nil || !applied.deleting {
		return nil
	}
	if c.failing {
		return errAPI
	}
	applied.resources = c.deleteTracked(applied, applied.resources)
	if len(applied.resources) > 0 {
		c.retry(name, finalizeApplied, time.Second)
		return nil
	}
	for _, other := range applied.others {
		c.dropSideManifest(other, applied)
	}
	delete(c.applied, name)
	c.garbage = true
	c.todo[name] |= finalizeWork
	return nil
}

// evict deletes the AppliedManifestWorks of works that disappeared longer ago than evictionGrace.
func (c *cluster) evict() {
	for _, name := range sortedNames(c.applied) {
		if a := c.applied[name]; !a.deleting && !a.evicts.IsZero() && !a.evicts.After(c.world.now) {
			a.deleting = true
			c.todo[name] |= finalizeApplied
		}
	}
}

func reports(w *workv1.ManifestWork, at key) bool {
	for i := range w.Status.ResourceStatus.Manifests {
		if m := w.Status.ResourceStatus.Manifests[i].ResourceMeta; m.Namespace == at.Namespace && m.Name == at.Name {
			return true
		}
	}
	return false
}

// reportStatus is the AvailableStatusController.
func (c *cluster) reportStatus(w *workv1.ManifestWork) error {
	if !hasFinalizer(w) || meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied) == nil {
		return nil
	}
	status := copyStatus(&w.Status)
	available := metav1.Condition{
		Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue, Reason: "ResourceAvailable", Message: "Resource is available",
		LastTransitionTime: c.world.metaNow(),
	}
	for i := range status.ResourceStatus.Manifests {
		m := &status.ResourceStatus.Manifests[i]
		a := c.apps[key{Namespace: m.ResourceMeta.Namespace, Name: m.ResourceMeta.Name}]
		switch {
		case c.failing && c.polling:
			available.Status, available.Reason, available.Message = metav1.ConditionUnknown, "FetchingResourceFailed", "Failed to fetch resource"
		case a == nil:
			available.Status, available.Reason, available.Message = metav1.ConditionFalse, "ResourceNotAvailable", "Resource is not available"
		}
		meta.SetStatusCondition(&m.Conditions, available)
		if available.Status != metav1.ConditionTrue {
			continue
		}
		c.polling = c.polling && c.failing
		m.StatusFeedbacks.Values = feedbackOf(a, optionOf(w, a.key), m.StatusFeedbacks.Values)
		meta.SetStatusCondition(&m.Conditions, metav1.Condition{
			Type: "StatusFeedbackSynced", Status: metav1.ConditionTrue, Reason: "StatusFeedbackSynced", LastTransitionTime: c.world.metaNow(),
		})
		if option := optionOf(w, a.key); option != nil && len(option.ConditionRules) > 0 && !c.older {
			a.evaluate(&m.Conditions, w.Generation, c.world.metaNow())
		}
	}
	whole := available
	whole.ObservedGeneration = w.Generation
	meta.SetStatusCondition(&status.Conditions, whole)
	return c.world.hub.setStatus(w, status)
}

// evaluate sets the conditions of feedback.ConditionRules.
func (a *placed) evaluate(conditions *[]metav1.Condition, generation int64, now metav1.Time) {
	finishedAt, owned := "0", a.owned(workv1.DefaultFieldManager)
	if a.state != nil && a.state.finishedAt != "" {
		finishedAt = a.state.finishedAt
	}
	for _, rule := range []struct {
		name string
		is   bool
	}{ // always in this order, because a new condition is appended
		{feedback.ConditionCompared, a.reconciledAt >= finishedAt},
		{feedback.ConditionUnedited, a.deleting || owned > 0 && owned >= a.sets},
	} {
		c := metav1.Condition{
			Type: rule.name, Status: metav1.ConditionFalse, Reason: workv1.ConditionRuleEvaluated, ObservedGeneration: generation, LastTransitionTime: now,
		}
		if rule.is {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(conditions, c)
	}
}

// feedbackOf returns the values for the feedback rules of a work. Values equal to the previous values share the memory
// of before.
func feedbackOf(a *placed, option *workv1.ManifestConfigOption, before []workv1.FeedbackValue) []workv1.FeedbackValue {
	if option == nil {
		return nil
	}
	n := 0 // number of values equal to before
	var out []workv1.FeedbackValue
	for i := range option.FeedbackRules {
		for j := range option.FeedbackRules[i].JsonPaths {
			p := &option.FeedbackRules[i].JsonPaths[j]
			text := a.read(p.Name, p.Path)
			switch {
			case text == "":
			case out == nil && n < len(before) && before[n].Name == p.Name && *before[n].Value.String == text:
				n++
			default:
				if out == nil {
					out = slices.Clone(before[:n:n])
				}
				said := text
				out = append(out, workv1.FeedbackValue{Name: p.Name, Value: workv1.FieldValue{Type: workv1.String, String: &said}})
			}
		}
	}
	if out == nil {
		return before[:n:n]
	}
	return out
}

// finalizerPaths are the JSON paths in feedback rules for a finalizer, and the finalizers.
var finalizerPaths = func() map[string]string {
	out := map[string]string{}
	for _, f := range argocd.DestructiveFinalizers {
		out[fmt.Sprintf(`.metadata.finalizers[?(@==%q)]`, f)] = f
	}
	return out
}()

// hubHash begins the names of AppliedManifestWorks.
var hubHash = strings.Repeat("0", 64)

// appliedBy returns the name of the first AppliedManifestWork that owns an Application; empty for none.
func (a *placed) appliedBy() string {
	if len(a.owners) == 0 {
		return ""
	}
	return hubHash + "-" + a.workName(0)
}

// workName returns the name of the work behind an owner of the Application.
func (a *placed) workName(owner int) string {
	_, name, _ := strings.Cut(a.owners[owner], "/")
	return name
}

// isOf reports whether the AppliedManifestWork of the named work owns the Application.
func (a *placed) isOf(name string) bool {
	return slices.ContainsFunc(a.owners, func(o string) bool { return strings.HasSuffix(o, "/"+name) })
}

// read returns the value for one feedback rule; empty for none.
func (a *placed) read(name, path string) string {
	switch name {
	case "healthStatus":
		return a.health
	case "syncStatus":
		return a.sync
	case "reconciledAt":
		return a.reconciledAt
	case "uid":
		return a.uid
	case "creationTimestamp":
		return a.madeAt
	case "agentAppliedAt":
		if a.owned(workv1.DefaultFieldManager) == 0 {
			return ""
		}
		return a.setAt
	case "resourceVersion":
		return strconv.FormatInt(a.version, 10)
	case "operationPending":
		return requestID(a.operation)
	case "refreshRequest":
		return a.annotations[apis.AnnotationRefreshRequest]
	case "refreshPending":
		return a.annotations[apis.AnnotationRefresh]
	case "brought":
		return a.annotations[apis.AnnotationWork]
	case "broughtOwner", "workOwner":
		return a.appliedBy()
	case "finalizersDropped":
		return a.annotations[apis.AnnotationFinalizersDropped]
	case "finalizer":
		return strings.Join(a.finalizers[:min(1, len(a.finalizers))], "")
	}
	if f, ok := finalizerPaths[path]; ok && slices.Contains(a.finalizers, f) {
		return f
	}
	if a.state == nil {
		return ""
	}
	switch name {
	case "operationStatePhase":
		return a.state.phase
	case "operationStateStartedAt":
		return a.state.startedAt
	case "operationStateFinishedAt":
		return a.state.finishedAt
	case "operationTaken":
		return requestID(a.state.operation)
	}
	return ""
}
