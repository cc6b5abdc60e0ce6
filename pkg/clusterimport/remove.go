package clusterimport

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

// manner is what becomes of a Secret that nobody wants and that cannot go yet, because Applications target its cluster.
type manner int

const (
	// asItIs changes nothing: its GitOpsCluster is being deleted, which says nothing about the Applications.
	asItIs manner = iota

	// leaving takes the labels of its cluster off, so that generators that select by them drop it.
	leaving

	// revoked takes the credentials out as well: the right to import was withdrawn.
	revoked
)

// drop removes the Secrets of clusters that have not been chosen for a while.
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

// leave removes all Secrets in namespaces that the GitOpsCluster does not name any more, or may not.
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

// removeAll removes Secrets, and tells whether all of them go.
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

// removeOne takes the GitOpsCluster's name off a Secret, and removes the Secret with the last one. One that has to stay for an
// Application keeps the name, and so the GitOpsCluster waits for it.
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

// othersOf is a Secret as it is for the others that want it, and whether nobody does. Those that do not exist any more are
// left out: one whose finalizer was taken off by hand would keep the Secret for ever.
func (d *decision) othersOf(s *corev1.Secret) (out *corev1.Secret, last bool) {
	out, last = clustersecret.Leave(s, d.Key())
	for _, other := range clustersecret.Owners(out) {
		if d.Others[other] == nil {
			out, last = clustersecret.Leave(out, other)
		}
	}
	return out, last
}

// remainingAs is what is said of Secrets that stay for Applications.
func remainingAs(held []Held) verdict {
	names := make([]string, len(held))
	for i := range held {
		names[i] = held[i].words
	}
	return no(&hold{apis.ReasonApplicationsRemain, count(len(held)) + " no longer wanted but still targeted by Applications: kept " + some(names) +
		". Towline deletes a Secret after the last Application of its cluster. If an ApplicationSet creates that Application from the Secret " +
		"itself, delete the Secret"})
}
