package clusterimport

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// manner is the treatment of a Secret without owners that must stay for Applications.
type manner int

const (
	// asItIs changes nothing: a deletion of the GitOpsCluster says nothing about the Applications.
	asItIs manner = iota

	// leaving removes the cluster's labels. Generators that select by labels then drop the cluster.
	leaving

	// revoked also removes the credentials, because the right to import was withdrawn.
	revoked
)

// drop removes the Secrets of clusters unchosen for the whole grace time.
func (d *decision) drop() []Step {
	if len(d.left) == 0 {
		d.removals = true
		return nil
	}
	if h := d.held(Drop, question{}); h != nil {
		d.removed = no(h)
		return nil
	}
	due, _ := d.due()
	steps, _ := d.removeAll(due, leaving)
	return steps
}

// leave removes all Secrets from namespaces that the GitOpsCluster no longer names, or may not use.
func (d *decision) leave(namespaces []string, how manner) {
	var secrets, objects []Step
	for _, namespace := range namespaces {
		if h := d.held(Open, question{namespace: namespace}); h != nil {
			d.removed = no(h)
			continue
		}
		steps, all := d.removeAll(d.Argos[namespace].owned(d.Key()), how)
		secrets = append(secrets, steps...)
		if all {
			d.plan.Left = append(d.plan.Left, namespace)
			objects = append(objects, d.unprepare(namespace)...)
		}
	}
	d.stage(secrets)
	d.stage(objects)
}

// removeAll removes Secrets, and returns false if a Secret must stay.
func (d *decision) removeAll(secrets []*corev1.Secret, how manner) (steps []Step, all bool) {
	d.removals = true
	held := len(d.plan.Held)
	for _, s := range secrets {
		if step := d.removeOne(s, how); step != nil {
			step.Removal, step.Cluster = true, clustersecret.Cluster(s)
			steps = append(steps, *step)
		}
	}
	return steps, len(d.plan.Held) == held
}

// removeOne removes the GitOpsCluster from the owners of a Secret, and deletes a Secret without other owners. A
// Secret kept for an Application keeps the owner, and the GitOpsCluster waits for the Secret.
func (d *decision) removeOne(s *corev1.Secret, how manner) *Step {
	others, last := d.othersOf(s)
	if !last {
		return &Step{Verb: Update, Was: s, Object: others, Frees: true}
	}
	if _, known := d.Users[keyOf(s)]; !known {
		d.plan.Ask = append(d.plan.Ask, s)
		return nil
	}
	h := d.held(Remove, question{secret: s})
	if h == nil {
		return &Step{Verb: Delete, Was: s, Frees: true}
	}
	d.plan.Held = append(d.plan.Held, Held{Secret: s, User: *d.Users[keyOf(s)], words: h.words})
	if after, changed := clustersecret.Leaving(s, how == revoked); changed && how != asItIs {
		return &Step{Verb: Update, Was: s, Object: after}
	}
	return nil
}

// othersOf returns a Secret without the GitOpsCluster as owner, and whether no owner is left. Owners missing on the
// hub go too: a GitOpsCluster that lost the finalizer by hand would keep the Secret forever.
func (d *decision) othersOf(s *corev1.Secret) (out *corev1.Secret, last bool) {
	out, last = clustersecret.Leave(s, d.Key())
	for _, other := range clustersecret.Owners(out) {
		if d.Others[other] == nil {
			out, last = clustersecret.Leave(out, other)
		}
	}
	return out, last
}

// remainingAs returns the condition about Secrets kept for Applications.
func remainingAs(held []Held) verdict {
	names := make([]string, len(held))
	for i := range held {
		names[i] = held[i].words
	}
	return no(&hold{apis.ReasonApplicationsRemain, count(len(held)) + " no longer wanted but still targeted by Applications: kept " + some(names) +
		". Towline deletes a Secret after the last Application of its cluster. If an ApplicationSet creates the Application from the Secret, " +
		"delete the Secret"})
}
