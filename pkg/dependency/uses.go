package dependency

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// Use is an Application that a work carries: its namespace and name on the cluster, and the works of what it may need.
type Use struct {
	Application  types.NamespacedName
	Dependencies []types.NamespacedName
}

// Uses are the Applications that a work carries, none for a dependency's, and whether it carries a request for one, which
// does not tell what that uses.
func Uses(w *workv1.ManifestWork, known Credentials) (uses []Use, request bool) {
	apps, request := carriedBy(w)
	for _, app := range apps {
		uses = append(uses, Use{app.key, Keys(keyOf(w), known, app.spec)})
	}
	return uses, request
}

// Keys are the works that an Application with that work of its own and that spec may need.
func Keys(own types.NamespacedName, known Credentials, spec Spec) []types.NamespacedName {
	keys := []types.NamespacedName{ProjectKey(own.Namespace, spec.Project), ObjectsKey(own)}
	if len(validation.IsDNS1123Label(spec.At)) == 0 { // propagation refuses other names
		keys = append(keys, NamespaceKey(own.Namespace, spec.At))
	}
	return append(keys, known.Keys(own.Namespace, spec)...)
}

// Keys are the works of the credentials and of the certificate authorities that an Application with that spec would use on the cluster.
func (c Credentials) Keys(cluster string, spec Spec) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, repo := range spec.Repositories {
		for _, secret := range c.For(spec.Project, repo) {
			keys = append(keys, CredentialKey(cluster, secret))
		}
		if host := hostname(repo); host != "" && slices.Contains(c, Scope{Host: host}) {
			keys = append(keys, CertificateKey(cluster, host))
		}
	}
	return keys
}

// carried is an Application that a work carries: its namespace and name on the cluster, and what it uses.
type carried struct {
	key  types.NamespacedName
	spec Spec
}

func carriedBy(w *workv1.ManifestWork) (apps []carried, request bool) {
	if _, ok := KindOf(w.Name); ok {
		return nil, false
	}
	for _, m := range w.Spec.Workload.Manifests {
		app := &argocd.Application{}
		switch {
		case json.Unmarshal(m.Raw, app) != nil || app.Kind != argocd.Kind:
		case len(app.Spec.Raw) == 0:
			request = true
		default:
			apps = append(apps, carried{types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, readSent(app)})
		}
	}
	return apps, request
}

// releasedTo are the Applications of the cluster that are being released, or were, and use the dependency. The work
// remembers them: nothing else tells an Application that was released from one that was deleted, once its own work is
// gone. One that has a work again, by whatever hub Application, is not among them any more. The works come in any order.
func (f *Facts) releasedTo() []types.NamespacedName {
	if f.Work == nil {
		return nil
	}
	apps := ReleasedTo(f.Work)
	var others []*workv1.ManifestWork
	for _, w := range f.Works {
		if _, ours := KindOf(w.Name); ours {
			continue
		}
		if !work.Stays(w) {
			others = append(others, w)
			continue
		}
		uses, _ := Uses(w, f.Credentials)
		for _, use := range uses {
			if slices.Contains(use.Dependencies, f.Key) {
				apps = append(apps, use.Application)
			}
		}
	}
	for _, w := range others {
		apps = slices.DeleteFunc(apps, func(app types.NamespacedName) bool { return work.CarriesTo(w, app) })
	}
	return apps
}

// StaysFor tells whether what a dependency's work carries stays on the cluster for an Application that is being released, as
// the agent has said. The answer for a work that goes is yes: its end is decided.
func StaysFor(w *workv1.ManifestWork, app types.NamespacedName) bool {
	return !w.DeletionTimestamp.IsZero() || IsReleasedTo(w, app) && Seen(w)
}

// Seen tells whether the work agent has dealt with the work as it is now, be it that it refused it.
func Seen(w *workv1.ManifestWork) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied)
	return c != nil && c.ObservedGeneration == w.Generation
}

// Applied tells whether the work agent has applied the work as it is now.
func Applied(w *workv1.ManifestWork) bool {
	return Seen(w) && meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied)
}
