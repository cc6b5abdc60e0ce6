package clusterimport

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/feedback"
)

// OlderLease is held by the GitOpsCluster controller of multicloud-integrations while the controller runs. The name
// is unchanged since August 2021. Advanced Cluster Management runs the controller in the Deployment
// multicluster-integrations.
var OlderLease = types.NamespacedName{
	Namespace: "kube-system", Name: "multicloud-operators-gitopscluster-leader.open-cluster-management.io",
}

// olderLeaseDuration is the duration of the older controller's Lease, if the Lease has no duration.
const olderLeaseDuration = 137 * time.Second

// olderConditions are the condition types written only by the older controller (August 2026).
var olderConditions = []string{
	"ArgoServerVerified", "ApplicationSetResourcesReady", "PolicyTemplateReady", "ClustersRegistered", "AddOnTemplateReady",
	"AddOnDeploymentConfigsReady", "ManagedClusterAddOnsReady", "ArgoCDAgentPrereqsReady", "GitOpsAddonPrereqsReady",
	"CertificatesReady", "ManifestWorksApplied", "OLMSubscriptionReady", "ArgoCDPolicyReady",
}

// IsOlders reports whether the older controller has written the status of a GitOpsCluster. Such a status has an older
// condition, or, before September 2025, a success without any condition.
func IsOlders(g *v1beta1.GitOpsCluster) bool {
	return slices.ContainsFunc(g.Status.Conditions, isOlders) ||
		g.Status.Phase == v1beta1.PhaseSuccessful && len(g.Status.Conditions) == 0 && !Marked(g).Finalizer
}

func isOlders(c metav1.Condition) bool { return slices.Contains(olderConditions, c.Type) }

// leaseEnd returns when the older controller counts as stopped, if no more renewals of the Lease follow. The result
// adds the duration a second time, because clocks may differ by as much. It is zero for a Lease without a holder.
func leaseEnd(lease *coordinationv1.Lease) time.Time {
	if lease == nil || lease.Spec.RenewTime == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return time.Time{}
	}
	duration := olderLeaseDuration
	if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		duration = time.Duration(*s) * time.Second
	}
	return lease.Spec.RenewTime.Add(2 * duration)
}

// checkOlderRuns blocks while the older controller runs. Two controllers would undo each other's Secrets: the older
// controller deletes all other Secrets of its clusters.
func checkOlderRuns(d *decision, _ subject) answer {
	left := leaseEnd(d.Lease).Sub(d.Now)
	if left <= 0 {
		return pass
	}
	a := blockf("the GitOpsCluster controller of multicluster-integrations runs on this hub, and holds the Lease %s: this GitOpsCluster and "+
		"its cluster Secrets are left to that controller. Stop it, or remove %q from Towline's flag --controllers", OlderLease, "gitopscluster")
	a.After = max(left, time.Minute)
	return a
}

// checkOlderWrote blocks because the older controller may come back, for example after an upgrade of the product.
func checkOlderWrote(d *decision, _ subject) answer {
	if d.TakeOver || !IsOlders(d.GitOpsCluster) {
		return pass
	}
	return blockf("the GitOpsCluster controller of multicluster-integrations has written this status, and may come back: this " +
		"GitOpsCluster and its cluster Secrets stay unchanged. If that controller has stopped for good, start Towline with --take-over-gitopsclusters")
}

// standBack leaves the GitOpsCluster to the older controller, and sets a condition. A GitOpsCluster being deleted
// gets no condition: Towline only releases the finalizer.
func (d *decision) standBack(b *block) {
	d.plan.StandsBack = b.reason
	if d.deletionRequested() {
		if Marked(d.GitOpsCluster).Finalizer {
			d.plan.Release = &Marks{}
		}
		return
	}
	was := &d.GitOpsCluster.Status
	if d.StoodBack == b.reason && len(was.Conditions) == 0 {
		return // a CRD without conditions has dropped the condition
	}
	is := was.DeepCopy()
	for _, own := range []string{apis.ConditionClustersImported, apis.ConditionClustersRemoved} {
		meta.RemoveStatusCondition(&is.Conditions, own)
	}
	message := feedback.Clean(b.words, feedback.MaxMessage)
	if !meta.SetStatusCondition(&is.Conditions, metav1.Condition{
		Type: apis.ConditionStandingBack, Status: metav1.ConditionTrue, Reason: b.reason, Message: message,
		ObservedGeneration: d.GitOpsCluster.Generation, LastTransitionTime: metav1.NewTime(d.Now),
	}) && len(is.Conditions) == len(was.Conditions) {
		return
	}
	d.plan.Status = is
	if before := meta.FindStatusCondition(was.Conditions, apis.ConditionStandingBack); before == nil || before.Reason != b.reason {
		d.plan.Events = append(d.plan.Events, Event{corev1.EventTypeWarning, b.reason, "Import", feedback.Clean(message, maxNote)})
	}
}

// takeOver removes the older controller's conditions from a status, and the condition about standing back.
func takeOver(s *v1beta1.GitOpsClusterStatus) {
	s.Conditions = slices.DeleteFunc(s.Conditions, isOlders)
	meta.RemoveStatusCondition(&s.Conditions, apis.ConditionStandingBack)
}
