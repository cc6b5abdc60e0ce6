package clusterimport

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxNote is the maximum length of an event's note (events.k8s.io/v1).
const maxNote = 1024

// verdict is the content of a condition. The zero value leaves the condition unchanged.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func yes(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }

func no(b *block) verdict { return verdict{metav1.ConditionFalse, b.reason, b.words} }

var unresolved = verdict{metav1.ConditionUnknown, apis.ReasonPlacementUnresolved, "the clusters to import are unknown"}

// report writes the result of the decision into the status.
func (d *decision) report() {
	switch {
	case len(d.plan.Kept) > 0:
		d.removed = remainingAs(d.plan.Kept)
	case d.removals && d.removed.status == "": // other obstacles to a removal are in d.removed already
		d.removed = yes(apis.ReasonRemoved, "no Secret of an unchosen cluster is left")
	}
	was := &d.GitOpsCluster.Status
	is := was.DeepCopy()
	d.update(is)
	kept := is.DeepCopy()
	if d.Pruned { // the pruned fields alone are no reason to write; a later write tries them again, because the CRD may have changed
		kept.Clusters, kept.ArgoNamespaces = was.Clusters, was.ArgoNamespaces
	}
	if !equality.Semantic.DeepEqual(was, kept) {
		d.plan.Status = is
	}
	d.plan.Clusters = d.clusters
	d.warn("Import", apis.ConditionReady, was, is)
	d.warn("Remove", apis.ConditionClustersRemoved, was, is)
}

// IsPruned reports whether the API server has dropped fields unknown to the published CRD of the older controllers.
func IsPruned(written, kept *v1beta1.GitOpsClusterStatus) bool {
	return written.Clusters != nil && kept.Clusters == nil
}

// Pruning returns the event about a pruned status.
func Pruning() Event {
	return Event{corev1.EventTypeWarning, apis.ReasonStatusPruned, "Import",
		"the CRD of GitOpsCluster comes from another product and drops status.clusters and status.argoNamespaces. Only these columns are missing"}
}

// update brings a status up to date.
func (d *decision) update(s *v1beta1.GitOpsClusterStatus) {
	now, ready := metav1.NewTime(d.Now), d.ready()
	takeOver(s)
	for conditionType, v := range map[string]verdict{
		apis.ConditionPlacementResolved: d.resolved,
		apis.ConditionClustersImported:  d.imported,
		apis.ConditionClustersRemoved:   d.removed,
		apis.ConditionReady:             ready,
	} {
		if v.status != "" {
			meta.SetStatusCondition(&s.Conditions, metav1.Condition{
				Type: conditionType, Status: v.status, Reason: v.reason, Message: feedback.Clean(v.message, feedback.MaxMessage),
				ObservedGeneration: d.GitOpsCluster.Generation, LastTransitionTime: now,
			})
		}
	}
	s.ArgoNamespaces = without(d.Namespaces(), d.plan.EmptyNamespaces...)
	if d.clusters != nil {
		s.Clusters = d.clusters
	}
	d.nameUnserved(s)
	if ready.status == "" {
		return
	}
	phase, message := v1beta1.PhaseSuccessful, feedback.Clean(ready.message, feedback.MaxMessage)
	if ready.status != metav1.ConditionTrue {
		phase = v1beta1.PhaseFailed
	}
	if s.Phase != phase || s.Message != message {
		s.Phase, s.Message, s.LastUpdateTime = phase, message, &now
	}
}

// nameUnserved sets the condition about fields without effect, and sorts the conditions.
func (d *decision) nameUnserved(s *v1beta1.GitOpsClusterStatus) {
	meta.RemoveStatusCondition(&s.Conditions, apis.ConditionFieldsIgnored)
	if fields := unserved(d.GitOpsCluster.Spec); len(fields) > 0 {
		condition := metav1.Condition{
			Type: apis.ConditionFieldsIgnored, Status: metav1.ConditionTrue, Reason: apis.ReasonNotServed,
			Message: "Towline does not act on " + strings.Join(fields, " and ") + ": Towline makes no Policy and installs no add-on. Remove these " +
				"fields, or leave this GitOpsCluster to the controller that serves them",
			ObservedGeneration: d.GitOpsCluster.Generation, LastTransitionTime: metav1.NewTime(d.Now),
		}
		if was := meta.FindStatusCondition(d.GitOpsCluster.Status.Conditions, condition.Type); was != nil {
			condition.LastTransitionTime = was.LastTransitionTime
		}
		s.Conditions = append(s.Conditions, condition)
	}
	slices.SortStableFunc(s.Conditions, byOrder)
}

// unserved returns the fields for features outside Towline.
func unserved(spec v1beta1.GitOpsClusterSpec) (out []string) {
	if isTrue(spec.CreatePolicyTemplate) {
		out = append(out, "spec.createPolicyTemplate")
	}
	if addon := spec.GitOpsAddon; addon != nil && (isTrue(addon.Enabled) || addon.ArgoCDAgent != nil && isTrue(addon.ArgoCDAgent.Enabled)) {
		out = append(out, "spec.gitopsAddon")
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }

// ready combines the conditions about the Placement and the import; empty while the GitOpsCluster is being deleted.
func (d *decision) ready() verdict {
	for _, v := range []verdict{d.resolved, d.imported} {
		if v.status == "" {
			return verdict{}
		}
		if v.status != metav1.ConditionTrue {
			return verdict{metav1.ConditionFalse, v.reason, v.message}
		}
	}
	return d.imported
}

// order is the order of the conditions in the status, by phase.
var order = []string{apis.ConditionReady, apis.ConditionPlacementResolved, apis.ConditionClustersImported, apis.ConditionClustersRemoved,
	apis.ConditionFieldsIgnored}

func byOrder(a, b metav1.Condition) int {
	return slices.Index(order, a.Type) - slices.Index(order, b.Type)
}

// warn adds an event for a condition with a new False, a new reason or a new message.
func (d *decision) warn(action, conditionType string, was, is *v1beta1.GitOpsClusterStatus) {
	now, before := meta.FindStatusCondition(is.Conditions, conditionType), meta.FindStatusCondition(was.Conditions, conditionType)
	if now == nil || now.Status != metav1.ConditionFalse || before != nil && before.Reason == now.Reason && before.Message == now.Message {
		return
	}
	d.plan.Events = append(d.plan.Events, Event{corev1.EventTypeWarning, now.Reason, action, feedback.Clean(now.Message, maxNote)})
}

// Done returns events about the finished steps.
func Done(g *v1beta1.GitOpsCluster, steps []Step) (out []Event) {
	var created, removed []string
	for _, s := range steps {
		switch {
		case s.Cluster != "" && s.Verb == Create:
			created = append(created, s.Cluster)
		case s.Frees:
			removed = append(removed, s.Cluster)
		}
	}
	if len(created) > 0 {
		slices.Sort(created)
		out = append(out, Event{corev1.EventTypeNormal, apis.ReasonImported, "Import", fmt.Sprintf("made %s known to the Argo CD of namespace %s: %s",
			count(len(created)), g.Spec.ArgoServer.ArgoNamespace, some(created))})
	}
	if len(removed) > 0 {
		slices.Sort(removed)
		out = append(out, Event{corev1.EventTypeNormal, apis.ReasonRemoved, "Remove", "removed " + count(len(removed)) + ": " + some(removed)})
	}
	return out
}

func count(n int) string {
	if n == 1 {
		return "1 cluster"
	}
	return fmt.Sprintf("%d clusters", n)
}

// shownAtOnce is the maximum number of names in a message.
const shownAtOnce = 5

// some lists the first names, and the number of the remaining names.
func some(names []string) string {
	if len(names) <= shownAtOnce {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shownAtOnce], ", "), len(names)-shownAtOnce)
}

func join(sentences []string) string { return strings.Join(sentences, ". ") }
