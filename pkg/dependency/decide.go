package dependency

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/work"
)

// decision builds a plan. Its methods read facts and add to the plan.
type decision struct {
	*Facts
	Options

	plan Plan

	// desired is the next content of the work; nil if the content does not change. tooLarge is the error if the
	// content does not fit into the work.
	desired  *workv1.ManifestWork
	tooLarge error

	// released are the released Applications that use the objects of the work. originals is set if the objects are
	// the hub's originals, in their own namespace on the hub.
	released  []types.NamespacedName
	originals bool
}

// Decide returns the plan for the work of a dependency.
func Decide(f Facts, o Options) Plan {
	d := &decision{Facts: &f, Options: o}
	d.plan.Silent = true
	d.plan.Intent = d.intent()
	if d.plan.Required == 0 && d.plan.Err == nil && !d.blocked(Write) {
		d.follow()
	}
	return d.plan
}

func (d *decision) intent() Intent {
	switch d.Kind() {
	case Project:
		return d.project()
	case Credential:
		return d.credential()
	case Certificate:
		return d.certificateIntent()
	case HostKeys:
		return d.hostKeysIntent()
	case Namespace:
		return d.namespace()
	case Objects:
		return d.objects()
	}
	return Keep
}

// project decides about the work of an AppProject. The work goes ahead of the Applications: it needs a permitted
// Application, not a delivered Application. Afterwards the work stays, and follows the hub's AppProject, as long as
// any delivered Application uses the project. A narrower project must become narrower on the cluster as well. Argo CD
// does not remove an Application without its project.
func (d *decision) project() Intent {
	name := d.ProjectName()
	switch {
	case name == "" && d.Work == nil:
		return Keep
	case name == "" && d.requireRequested():
		return Keep
	case name == "":
		return Unused
	case d.require(FactProject):
		return Keep
	case d.Project == nil:
		return Keep // the Applications of the project are still on the cluster
	case !d.projectTravels(d.Project), d.shared(d.Options):
		return Orphan
	}
	d.carry(d.renderProject(d.reaches(d.Options)...))
	if d.desired != nil && d.plan.Err == nil {
		d.plan.Err = d.permit(d.desired, d.Options)
	}
	if d.desired != nil && d.takes() {
		Force(d.desired)
	}
	return Carry
}

// takes reports whether the work takes over the AppProject of an older controller on the cluster. The older
// controller sent the hub's AppProject, and the agent applied the project with the default strategy. Different fields
// conflict. The answer matters when the work is created, and after a refusal by the agent. A forced work stays
// forced.
func (d *decision) takes() bool {
	switch {
	case d.Work != nil && Forced(d.Work):
		return true
	case d.Work != nil && (!Seen(d.Work) || Applied(d.Work)), d.require(FactOlder):
		return false
	}
	return d.SentByOlder
}

// renderProject returns the work of the AppProject, with the public keys of the project.
func (d *decision) renderProject(reaches ...Reach) (*workv1.ManifestWork, error) {
	w, err := RenderProject(d.Project, d.target(), d.argocdNamespace(d.Options), reaches...)
	if err != nil {
		return nil, err
	}
	keys, _ := d.signatureKeys()
	return w, addKeys(w, d.Work, d.argocdNamespace(d.Options), keys)
}

// largeProject reports whether the AppProject of the work and its public keys may not fit into a ManifestWork.
func (d *decision) largeProject() bool {
	size := 0
	keys, _ := d.signatureKeys()
	for _, key := range keys {
		size += len(key)
	}
	return LargeProject(d.Project) || size > doubtful
}

func (d *decision) projectTravels(p *argocd.AppProject) bool {
	return d.Projects && p.Name != argocd.DefaultProject && !keptOnHub(p.Annotations)
}

// credential decides about the work of a repository's credential. The work follows the hub's Secret as long as a
// permitted Application on the cluster uses the repository. If only other delivered Applications use the repository,
// the work stays as is, and does not follow a rotation.
func (d *decision) credential() Intent {
	switch {
	case d.Secret == nil && d.Work == nil:
		return Keep
	case d.Secret == nil, !propagates(d.Secret.Annotations):
		return Withdraw
	case d.needed():
		if d.shared(d.Options) {
			return End
		}
		d.carry(RenderCredential(d.Secret, d.Key.Namespace, d.argocdNamespace(d.Options)))
		return Carry
	case d.Work == nil, d.requireRequested():
		return Keep
	}
	return Unused
}

// certificateIntent decides about the work of a certificate authority. Like a credential, the work goes to clusters
// with an Application that reads from the server. The hub's own ConfigMap stays as is.
func (d *decision) certificateIntent() Intent {
	host, pem := d.certificate()
	switch {
	case host == "" && d.Work == nil:
		return Keep
	case host == "":
		return Withdraw
	case d.shared(d.Options):
		return Orphan
	case d.needed():
		d.carry(renderCertificate(d.Key.Namespace, d.argocdNamespace(d.Options), host, pem))
		return Carry
	case d.Work == nil, d.requireRequested():
		return Keep
	}
	return Unused
}

// hostKeysIntent decides about the work of the host keys. The work goes to clusters with an Application that reads by
// SSH. The text stays on the cluster after the end of the work, because Argo CD reads no other host keys there.
func (d *decision) hostKeysIntent() Intent {
	text := d.hostKeys()
	switch {
	case text == "", d.shared(d.Options):
		return Orphan
	case d.needed():
		d.carry(renderHostKeys(d.Key.Namespace, d.argocdNamespace(d.Options), text))
		if d.desired != nil && replacesHostKeys(d.HostKeys) {
			Force(d.desired)
		}
		return Carry
	case d.Work == nil, d.requireRequested():
		return Keep
	}
	return Unused
}

// needed reports whether an Application needs the dependency.
func (d *decision) needed() bool {
	return slices.ContainsFunc(d.Users, func(u User) bool { return d.Suffices(&u) })
}

// carry notes the next content of the work. A rendering error goes into the plan, except a TooLargeError.
func (d *decision) carry(w *workv1.ManifestWork, err error) {
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		d.tooLarge, err = large, nil
	}
	d.desired, d.plan.Err = w, err
}

// require reports whether the caller must read facts first, and adds the facts to the plan's Required.
func (d *decision) require(n FactSet) bool {
	if d.Known&n != 0 {
		return false
	}
	d.plan.Required |= n
	return true
}

// requireRequested adds the specs of the hub's Applications to the plan's Required, if any works carry a request.
func (d *decision) requireRequested() bool {
	_, all := d.carried()
	return !all && d.require(FactRequested)
}

// wait plans the next decision after the given time at the latest; zero for never.
func (d *decision) wait(after time.Duration) {
	d.plan.After = gate.Sooner(d.plan.After, after)
}

// follow plans the write of the work for the intent.
func (d *decision) follow() {
	if d.blocked(d.plan.Intent) {
		d.plan.Intent = Keep
	}
	d.released = d.releasedTo()
	d.originals = d.Work != nil && atHome(d.Work) && d.Cluster.Hub
	switch {
	case d.plan.Intent == Carry && d.Work == nil:
		d.unmark(d.desired)
		d.plan.Step = &Step{Write: work.Creation(d.desired)}
	case d.Work == nil:
	case d.plan.Intent == Carry && !d.originals:
		if len(d.released) > 0 {
			Release(d.desired, d.released)
		}
		d.update(d.desired, false)
	case d.plan.Intent == Keep:
		d.update(d.kept(), false)
	default:
		d.remove()
	}
}

// update plans a write if the work differs from desired: after a change on the hub, or after an edit of the work.
func (d *decision) update(desired *workv1.ManifestWork, final bool) (changed bool) {
	d.unmark(desired)
	updated, changed := work.Update(d.Work, desired)
	if changed {
		d.plan.Step = &Step{Write: work.Change(d.Work, updated), Final: final}
	}
	return changed
}

// remove plans the deletion of the work. If the final state matters to the cluster, the plan writes the final state
// first. The end of the work triggers the next decision.
func (d *decision) remove() {
	final, err := d.finalWork()
	if err != nil {
		d.plan.Err = err
		return
	}
	if final == nil || !d.update(final, true) && !d.blocked(Remove) {
		d.plan.Step = &Step{Write: work.Deletion(d.Work)}
	}
}

// finalWork returns the last state of the work before its deletion; nil if the last state does not matter. An
// AppProject and the host keys always stay on their cluster. Orphaned objects, the hub's originals, and objects of
// released Applications
// stay too.
func (d *decision) finalWork() (*workv1.ManifestWork, error) {
	switch {
	case d.plan.Intent == Orphan, d.originals, d.Kind() == HostKeys:
		return d.releasing(), nil
	case d.Kind() == Project:
		return FinalProject(d.releasing())
	case d.Kind() == Namespace:
		return nil, nil //nolint:nilnil // documented
	case len(d.released) > 0 && d.plan.Intent != Withdraw:
		return d.releasing(), nil
	case d.Kind() == Certificate:
		return FinalCertificate(d.Work, d.argocdNamespace(d.Options))
	case d.Work.Spec.DeleteOption == nil:
		return nil, nil //nolint:nilnil // documented
	}
	last := d.Work.DeepCopy() // the work had no delete option: the agent must own the objects again before their removal
	setTaken(last)
	return last, nil
}

// kept returns the unchanged work, with the present list of released Applications.
func (d *decision) kept() *workv1.ManifestWork {
	if len(d.released) > 0 || d.originals || d.Kind().stays() {
		return d.releasing()
	}
	out := d.Work.DeepCopy()
	SetKept(out)
	return out
}

// releasing returns a work whose deletion leaves all objects on the cluster. If the agent could not apply some
// objects, the agent does not try again, and only removes its mark of ownership.
func (d *decision) releasing() *workv1.ManifestWork {
	out := d.Work.DeepCopy()
	Release(out, d.released)
	if Seen(d.Work) && !Applied(d.Work) && !d.Kind().stays() {
		untouched(out)
	}
	return out
}

// unmark removes the tracking label of the hub's Argo CD from the objects of a work.
func (d *decision) unmark(w *workv1.ManifestWork) {
	if d.TrackingLabel != "" {
		work.Unmark(w, d.TrackingLabel)
	}
}

// doubtful is the size in bytes from which an AppProject or a Secret may not fit into a ManifestWork. Smaller objects
// always fit.
const doubtful = work.MaxPayload / 4

// LargeProject reports whether an AppProject may not fit into a ManifestWork.
func LargeProject(p *argocd.AppProject) bool { return p != nil && len(p.Spec.Raw) > doubtful }

// LargeSecret reports whether a Secret may not fit into a ManifestWork.
func LargeSecret(s *corev1.Secret) bool {
	size := 0
	for _, value := range s.Data {
		size += len(value)
	}
	return size > doubtful
}
