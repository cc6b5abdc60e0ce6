package dependency

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// decision is a plan in the making. Its methods read facts and add to the plan.
type decision struct {
	*Facts
	Options

	plan Plan

	// desired is what the work is to say; nil where that is nothing new. tooLarge is set when it does not fit.
	desired  *workv1.ManifestWork
	tooLarge error

	// released are the Applications that were released and use what the work carries, and originals is set when that are
	// objects of the hub where they are.
	released  []types.NamespacedName
	originals bool
}

// Decide is what is to be done about the work of a dependency.
func Decide(f Facts, o Options) Plan {
	d := &decision{Facts: &f, Options: o}
	d.plan.Silent = true
	d.plan.Intent = d.intent()
	if d.plan.Need == 0 && d.plan.Err == nil && !d.held(Write) {
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
	case Namespace:
		return d.namespace()
	case Objects:
		return d.objects()
	}
	return Keep
}

// project is what becomes of the work that carries an AppProject. It goes ahead of the Applications: it needs one that may
// be on the cluster, not one that is there. Once there it stays, and follows the hub's, as long as anything that was sent
// there uses it: a project that has become narrower must do so there as well, and Argo CD does not remove an Application
// whose project it does not find.
func (d *decision) project() Intent {
	name := d.ProjectName()
	switch {
	case name == "" && d.Work == nil:
		return Keep
	case name == "" && d.lacksRequested():
		return Keep
	case name == "":
		return Unused
	case d.lacks(NeedProject):
		return Keep
	case d.Project == nil:
		return Keep // its Applications are on the cluster still
	case !d.projectTravels(d.Project), d.shared(d.Options):
		return Orphan
	}
	d.carry(d.renderProject(d.reaches(d.Options)...))
	if d.desired != nil && d.plan.Err == nil {
		d.plan.Err = addSourceNamespaces(d.desired, d.arrivals(d.Options))
	}
	if d.desired != nil && d.takes() {
		Force(d.desired)
	}
	return Carry
}

// takes tells whether the AppProject takes the place of one that an older controller has sent to the cluster: that is the hub's own,
// and the agent applied it without a word on how, so that where they differ they conflict. It is asked when the work is made, and
// when the agent was refused; once it has been so it stays so.
func (d *decision) takes() bool {
	switch {
	case d.Work != nil && Forced(d.Work):
		return true
	case d.Work != nil && (!Seen(d.Work) || Applied(d.Work)), d.lacks(NeedBrought):
		return false
	}
	return d.Brought
}

// renderProject is the work of the AppProject, with its public keys.
func (d *decision) renderProject(reaches ...Reach) (*workv1.ManifestWork, error) {
	w, err := RenderProject(d.Project, d.target(), d.argocdNamespace(d.Options), reaches...)
	if err != nil {
		return nil, err
	}
	keys, _ := d.signatureKeys()
	return w, addKeys(w, d.Work, d.argocdNamespace(d.Options), keys)
}

// largeProject tells whether the AppProject of the work and its public keys may not fit into a ManifestWork.
func (d *decision) largeProject() bool {
	size := 0
	keys, _ := d.signatureKeys()
	for _, key := range keys {
		size += len(key)
	}
	return LargeProject(d.Project) || size > doubtful
}

func (d *decision) projectTravels(p *argocd.AppProject) bool {
	return d.Projects && p.Name != argocd.DefaultProject && !KeptOnHub(p.Annotations)
}

// credential is what becomes of the work that carries a repository's credential. It travels as long as an Application
// that may be on the cluster, and is there, uses the repository. It stays as it is, and does not follow a rotation, as
// long as only something else that was sent there does.
func (d *decision) credential() Intent {
	switch {
	case d.Secret == nil && d.Work == nil:
		return Keep
	case d.Secret == nil, !Propagates(d.Secret.Annotations):
		return Withdraw
	case slices.ContainsFunc(d.Users, func(u User) bool { return d.Suffices(&u) }):
		if d.shared(d.Options) {
			return End
		}
		d.carry(RenderCredential(d.Secret, d.Key.Namespace, d.argocdNamespace(d.Options)))
		return Carry
	case d.Work == nil, d.lacksRequested():
		return Keep
	}
	return Unused
}

// certificateIntent decides about the work of a certificate authority. It is sent like a credential: to clusters with an Application
// that reads from the server. The hub's own ConfigMap stays as it is.
func (d *decision) certificateIntent() Intent {
	host, pem := d.certificate()
	switch {
	case host == "" && d.Work == nil:
		return Keep
	case host == "":
		return Withdraw
	case d.shared(d.Options):
		return Orphan
	case slices.ContainsFunc(d.Users, func(u User) bool { return d.Suffices(&u) }):
		d.carry(RenderCertificate(d.Key.Namespace, d.argocdNamespace(d.Options), host, pem))
		return Carry
	case d.Work == nil, d.lacksRequested():
		return Keep
	}
	return Unused
}

// carry notes what the work is to say. One that cannot be rendered otherwise than for its size decides nothing.
func (d *decision) carry(w *workv1.ManifestWork, err error) {
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		d.tooLarge, err = large, nil
	}
	d.desired, d.plan.Err = w, err
}

// lacks tells whether facts have to be read first, and asks for them.
func (d *decision) lacks(n Need) bool {
	if d.Known&n != 0 {
		return false
	}
	d.plan.Need |= n
	return true
}

// lacksRequested asks for what the hub has of the Applications whose works carry a request, where there are such.
func (d *decision) lacksRequested() bool {
	_, all := d.carried()
	return !all && d.lacks(NeedRequested)
}

// wait asks for another look after so long at the latest; zero for never.
func (d *decision) wait(after time.Duration) {
	if d.plan.After == 0 || after > 0 && after < d.plan.After {
		d.plan.After = after
	}
}

// follow makes the work what it is to be.
func (d *decision) follow() {
	if d.held(d.plan.Intent) {
		d.plan.Intent = Keep
	}
	d.released = d.releasedTo()
	d.originals = d.Work != nil && AtHome(d.Work) && d.Cluster.Hub
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

// update writes the work where it differs: after a change on the hub, and when someone edited the work.
func (d *decision) update(desired *workv1.ManifestWork, final bool) (changed bool) {
	d.unmark(desired)
	updated, changed := work.Update(d.Work, desired)
	if changed {
		d.plan.Step = &Step{Write: work.Change(d.Work, updated), Final: final}
	}
	return changed
}

// remove deletes the work. What it says last is written before, where it matters to the cluster. Its end wakes the decision
// that makes another.
func (d *decision) remove() {
	final, err := d.finalWork()
	if err != nil {
		d.plan.Err = err
		return
	}
	if final == nil || !d.update(final, true) && !d.held(Remove) {
		d.plan.Step = &Step{Write: work.Deletion(d.Work)}
	}
}

// finalWork is what the work says before it goes; nil when that does not matter. An AppProject stays on its cluster in any
// case, and so do the hub's originals, what its owner orphans and what is released to somebody.
func (d *decision) finalWork() (*workv1.ManifestWork, error) {
	switch {
	case d.plan.Intent == Orphan, d.originals:
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
	last := d.Work.DeepCopy() // it was to stay, and the agent has to own it again before it can go
	SetTaken(last)
	return last, nil
}

// kept is the work as it is, but for whom it is released to.
func (d *decision) kept() *workv1.ManifestWork {
	if len(d.released) > 0 || d.originals || d.Kind().stays() {
		return d.releasing()
	}
	out := d.Work.DeepCopy()
	SetKept(out)
	return out
}

// releasing is a work whose deletion leaves all that it carries on the cluster. Where the agent has been refused some of it,
// it is not to try that again, only to take off its mark of ownership.
func (d *decision) releasing() *workv1.ManifestWork {
	out := d.Work.DeepCopy()
	Release(out, d.released)
	if Seen(d.Work) && !Applied(d.Work) && !d.Kind().stays() {
		Untouched(out)
	}
	return out
}

// unmark takes the label by which the hub's Argo CD tracks off what a work carries.
func (d *decision) unmark(w *workv1.ManifestWork) {
	if d.TrackingLabel != "" {
		work.Unmark(w, d.TrackingLabel)
	}
}

// doubtful is how many bytes an AppProject or a Secret has that may not fit into a ManifestWork. Smaller ones do.
const doubtful = work.MaxPayload / 4

// LargeProject tells whether an AppProject may not fit into a ManifestWork.
func LargeProject(p *argocd.AppProject) bool { return p != nil && len(p.Spec.Raw) > doubtful }

// LargeSecret tells whether a Secret may not fit into a ManifestWork.
func LargeSecret(s *corev1.Secret) bool {
	size := 0
	for _, value := range s.Data {
		size += len(value)
	}
	return size > doubtful
}
