package clusterimport

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/gate"
)

// decision builds a plan. The methods read facts and add to the plan.
type decision struct {
	*Facts
	Options

	plan Plan

	// chosen are the clusters chosen by the Placement; nil if unknown.
	chosen *selection

	// argo is the target Argo CD. left are the Secrets in the Argo CD for clusters no longer chosen.
	argo     *Argo
	unchosen []*corev1.Secret

	// resolved, imported and removed are the new conditions. The zero value leaves a condition unchanged.
	resolved, imported, removed verdict

	// clusters is the number of chosen clusters with a Secret; nil if unknown.
	clusters *int32

	// removals is set if the decision has checked for Secrets to remove.
	removals bool
}

// Decide returns the plan for a GitOpsCluster.
func Decide(f Facts, o Options) Plan {
	d := &decision{Facts: &f, Options: o}
	if b := d.firstBlock(Serve, subject{}); b != nil {
		d.standBack(b)
		return d.plan
	}
	switch {
	case !d.deletionRequested():
		d.keep()
	case Marked(d.GitOpsCluster).Finalizer:
		d.finalize()
	default:
		return d.plan // all Secrets have other owners by now
	}
	if d.plan.Claim == nil && len(d.plan.NeedUsers) == 0 {
		d.conclude()
	}
	return d.plan
}

// keep imports the chosen clusters, as far as the gates permit.
func (d *decision) keep() {
	d.choose()
	namespace := d.namespace()
	if b := d.firstBlock(Use, subject{}); b != nil {
		d.imported = no(b)
		d.removeFrom(d.Namespaces(), removeCredentials)
		return
	}
	if d.chosen == nil {
		return // imported clusters stay
	}
	if b := d.firstBlock(Access, subject{namespace: namespace}); b != nil {
		d.imported = no(b)
		return
	}
	if b := d.firstBlock(Claim, subject{}); b != nil {
		d.imported = no(b)
		d.removeFrom(without(d.Namespaces(), namespace), removeCredentials)
		return
	}
	if d.claim(namespace); d.plan.Claim != nil {
		return
	}
	d.argo = d.Argos[namespace]
	d.unchosen = d.argo.unchosen(d.Key(), d.chosen)
	d.stage(d.prepare(namespace))
	d.stage(append(d.imports(), d.drop()...))
	d.removeFrom(without(d.Namespaces(), namespace), removeCredentials)
}

// claim marks the GitOpsCluster with the finalizer and the namespace before the first Secret exists.
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

// finalize removes the Secrets of a GitOpsCluster being deleted. The GitOpsCluster goes after the last Secret. A
// Secret stays unchanged as long as Applications target its cluster. If the Secret went, the ApplicationSets of a
// remaining Placement would miss the cluster and remove their Applications.
func (d *decision) finalize() {
	d.removeFrom(d.Namespaces(), unchanged)
	if len(d.plan.EmptyNamespaces) == len(d.marked().Namespaces) {
		d.plan.Release = &Marks{}
	} else if d.tooMany() {
		d.wait(rotationInterval)
	}
}

// conclude writes the result into the status of the GitOpsCluster.
func (d *decision) conclude() {
	if d.plan.Release != nil {
		return // the GitOpsCluster goes
	}
	d.report()
	if d.tooMany() {
		d.wait(rotationInterval)
	}
	if marked := d.marked(); len(d.plan.EmptyNamespaces) > 0 {
		d.plan.Release = &Marks{Finalizer: marked.Finalizer, Namespaces: without(marked.Namespaces, d.plan.EmptyNamespaces...)}
	}
}

// stage adds writes that must follow the earlier stages.
func (d *decision) stage(steps []Step) {
	if len(steps) > 0 {
		d.plan.Stages = append(d.plan.Stages, steps)
	}
}

// wait plans the next decision after the given time at the latest; zero for never.
func (d *decision) wait(after time.Duration) {
	d.plan.After = gate.Sooner(d.plan.After, after)
}

func keyOf(s *corev1.Secret) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// without returns a list without the unwanted elements.
func without(list []string, unwanted ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(unwanted, s) })
}
