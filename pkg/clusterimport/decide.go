package clusterimport

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// decision is a plan in the making. Its methods read facts and add to the plan.
type decision struct {
	*Facts
	Options

	plan Plan

	// chosen is what the Placement has chosen; nil where that is not known.
	chosen *selection

	// argo is the Argo CD that gets clusters, and left are the Secrets there of clusters that are not chosen any more.
	argo *Argo
	left []*corev1.Secret

	// resolved, imported and removed are what the conditions say. The zero value leaves a condition as it is.
	resolved, imported, removed verdict

	// clusters is how many chosen clusters have their Secret; nil where that is not known.
	clusters *int32

	// removals is set where it was looked whether Secrets have to go.
	removals bool
}

// Decide is what is to be done about a GitOpsCluster.
func Decide(f Facts, o Options) Plan {
	d := &decision{Facts: &f, Options: o}
	if h := d.held(Serve, question{}); h != nil {
		d.standBack(h)
		return d.plan
	}
	switch {
	case !d.going():
		d.keep()
	case Marked(d.GitOpsCluster).Finalizer:
		d.finalize()
	default:
		return d.plan // its Secrets are somebody else's by now
	}
	if d.plan.Claim == nil && len(d.plan.Ask) == 0 {
		d.conclude()
	}
	return d.plan
}

// keep goes as far as it can.
func (d *decision) keep() {
	d.choose()
	namespace := d.namespace()
	if h := d.held(Use, question{}); h != nil {
		d.imported = no(h)
		d.leave(d.Namespaces(), revoked)
		return
	}
	if d.chosen == nil {
		return // what was imported before stays
	}
	if h := d.held(Open, question{namespace: namespace}); h != nil {
		d.imported = no(h)
		return
	}
	if h := d.held(Claim, question{}); h != nil {
		d.imported = no(h)
		d.leave(without(d.Namespaces(), namespace), revoked)
		return
	}
	if d.claim(namespace); d.plan.Claim != nil {
		return
	}
	d.argo = d.Argos[namespace]
	d.left = d.argo.passedOver(d.Key(), d.chosen)
	d.stage(d.prepare(namespace))
	d.stage(append(d.imports(), d.drop()...))
	d.leave(without(d.Namespaces(), namespace), revoked)
}

// claim notes on the GitOpsCluster, before there is a Secret, that and where it may have some.
func (d *decision) claim(namespace string) {
	want, known := d.marked(), noted(d.GitOpsCluster)
	unknown := func(name string) bool { return !slices.Contains(known, name) }
	if want.Finalizer && !unknown(namespace) && !slices.ContainsFunc(d.Found, unknown) {
		return
	}
	want.Finalizer = true
	if !slices.Contains(want.Namespaces, namespace) {
		want.Namespaces = append(want.Namespaces, namespace)
	}
	d.plan.Claim = &want
}

// finalize removes the Secrets of a GitOpsCluster that is being deleted, which goes once there are none left. As long as
// Applications target their clusters they stay as they are: without them, the ApplicationSets of a Placement that still
// stands would take its clusters for unknown, and their Applications off them.
func (d *decision) finalize() {
	d.leave(d.Namespaces(), asItIs)
	if len(d.plan.Left) == len(d.marked().Namespaces) {
		d.plan.Release = &Marks{}
	} else if d.tooMany() {
		d.wait(turn)
	}
}

// conclude says on the GitOpsCluster how far that came.
func (d *decision) conclude() {
	if d.plan.Release != nil {
		return // it goes
	}
	d.report()
	if d.tooMany() {
		d.wait(turn)
	}
	if marked := d.marked(); len(d.plan.Left) > 0 {
		d.plan.Release = &Marks{Finalizer: marked.Finalizer, Namespaces: without(marked.Namespaces, d.plan.Left...)}
	}
}

// stage adds writes that are made after those before.
func (d *decision) stage(steps []Step) {
	if len(steps) > 0 {
		d.plan.Stages = append(d.plan.Stages, steps)
	}
}

// wait asks for another look after so long at the latest; zero for never.
func (d *decision) wait(after time.Duration) {
	if d.plan.After == 0 || after > 0 && after < d.plan.After {
		d.plan.After = after
	}
}

func keyOf(s *corev1.Secret) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// without is a list without some of its elements.
func without(list []string, unwanted ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(unwanted, s) })
}
