package clusterimport

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// treatment is the treatment of a Secret without owners that must stay for Applications.
type treatment int

const (
	// unchanged changes nothing: a deletion of the GitOpsCluster says nothing about the Applications.
	unchanged treatment = iota

	// removeLabels removes the cluster's labels. Generators that select by labels then drop the cluster.
	removeLabels

	// removeCredentials also removes the credentials, because the right to import was withdrawn.
	removeCredentials
)

// drop removes the Secrets of clusters unchosen for the whole grace time.
func (d *decision) drop() []Step {
	if len(d.unchosen) == 0 {
		d.removals = true
		return nil
	}
	if b := d.firstBlock(Drop, subject{}); b != nil {
		d.removed = no(b)
		return nil
	}
	due, _ := d.due()
	steps, _ := d.removeAll(due, removeLabels)
	return steps
}

// removeFrom removes all Secrets from namespaces that the GitOpsCluster no longer names, or may not use.
func (d *decision) removeFrom(namespaces []string, how treatment) {
	var secrets, objects []Step
	for _, namespace := range namespaces {
		if b := d.firstBlock(Access, subject{namespace: namespace}); b != nil {
			d.removed = no(b)
			continue
		}
		steps, all := d.removeAll(d.Argos[namespace].owned(d.Key()), how)
		secrets = append(secrets, steps...)
		if all {
			d.plan.EmptyNamespaces = append(d.plan.EmptyNamespaces, namespace)
			objects = append(objects, d.unprepare(namespace)...)
		}
	}
	d.stage(secrets)
	d.stage(objects)
}

// removeAll removes Secrets, and returns false if a Secret must stay.
func (d *decision) removeAll(secrets []*corev1.Secret, how treatment) (steps []Step, all bool) {
	d.removals = true
	kept := len(d.plan.Kept)
	for _, s := range secrets {
		if step := d.removeOne(s, how); step != nil {
			step.Removal, step.Cluster = true, clustersecret.Cluster(s)
			steps = append(steps, *step)
		}
	}
	return steps, len(d.plan.Kept) == kept
}

// removeOne removes the GitOpsCluster from the owners of a Secret, and deletes a Secret without other owners. A
// Secret kept for an Application keeps the owner, and the GitOpsCluster waits for the Secret.
func (d *decision) removeOne(s *corev1.Secret, how treatment) *Step {
	others, last := d.othersOf(s)
	if !last {
		return &Step{Verb: Update, Was: s, Object: others, Frees: true}
	}
	if _, known := d.Users[keyOf(s)]; !known {
		d.plan.NeedUsers = append(d.plan.NeedUsers, s)
		return nil
	}
	b := d.firstBlock(Remove, subject{secret: s})
	if b == nil {
		return &Step{Verb: Delete, Was: s, Frees: true}
	}
	d.plan.Kept = append(d.plan.Kept, KeptSecret{Secret: s, User: *d.Users[keyOf(s)], words: b.words})
	if after, changed := clustersecret.RemoveClusterLabels(s, how == removeCredentials); changed && how != unchanged {
		return &Step{Verb: Update, Was: s, Object: after}
	}
	return nil
}

// othersOf returns a Secret without the GitOpsCluster as owner, and whether no owner is left. Owners missing on the
// hub go too: a GitOpsCluster that lost the finalizer by hand would keep the Secret forever.
func (d *decision) othersOf(s *corev1.Secret) (out *corev1.Secret, last bool) {
	out, last = clustersecret.RemoveOwner(s, d.Key())
	for _, other := range clustersecret.Owners(out) {
		if d.Others[other] == nil {
			out, last = clustersecret.RemoveOwner(out, other)
		}
	}
	return out, last
}

// remainingAs returns the condition about Secrets kept for Applications.
func remainingAs(kept []KeptSecret) verdict {
	names := make([]string, len(kept))
	for i := range kept {
		names[i] = kept[i].words
	}
	return no(&block{apis.ReasonApplicationsRemain, count(len(kept)) + " no longer wanted but still targeted by Applications: kept " + some(names) +
		". Towline deletes a Secret after the last Application of its cluster. If an ApplicationSet creates the Application from the Secret, " +
		"delete the Secret"})
}
