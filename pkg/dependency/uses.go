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

// Use is an Application in a work: the namespace and name on the cluster, and the works of possible dependencies.
type Use struct {
	Application  types.NamespacedName
	Dependencies []types.NamespacedName
}

// Uses returns the Applications of a work, and whether the work carries a request for an Application. A request does
// not tell the dependencies of its Application. A dependency work has no Applications.
func Uses(w *workv1.ManifestWork, known Credentials) (uses []Use, request bool) {
	c := carriedBy(w)
	for _, app := range c.apps {
		uses = append(uses, Use{app.key, Keys(keyOf(w), known, app.spec)})
	}
	return uses, c.request
}

// Keys returns the keys of an Application's possible dependency works, from the key of the own work and the spec.
func Keys(own types.NamespacedName, known Credentials, spec Spec) []types.NamespacedName {
	keys := []types.NamespacedName{ProjectKey(own.Namespace, spec.Project), ObjectsKey(own)}
	if len(validation.IsDNS1123Label(spec.ApplicationNamespace)) == 0 { // propagation refuses other names
		keys = append(keys, NamespaceKey(own.Namespace, spec.ApplicationNamespace))
	}
	return append(keys, known.Keys(own.Namespace, spec)...)
}

// Keys returns the keys of the works for the credentials, certificate authorities and host keys of an Application with the spec.
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
	if spec.connectsBySSH() && slices.Contains(c, Scope{SSH: true}) {
		keys = append(keys, HostKeysKey(cluster))
	}
	return keys
}

// Ahead returns the keys of the possible works that go ahead of a work: the works of its Applications' AppProjects and
// namespaces. Ahead leaves out the AppProject and the namespace that every Argo CD has.
func (o Options) Ahead(w *workv1.ManifestWork) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, app := range carriedBy(w).apps {
		if o.Projects && app.spec.Project != argocd.DefaultProject {
			keys = append(keys, ProjectKey(w.Namespace, app.spec.Project))
		}
		if o.Namespaces && app.spec.ApplicationNamespace != o.ClusterNamespace && len(validation.IsDNS1123Label(app.spec.ApplicationNamespace)) == 0 {
			keys = append(keys, NamespaceKey(w.Namespace, app.spec.ApplicationNamespace))
		}
	}
	return keys
}

// carried is an Application in a work: the namespace and name on the cluster, and the dependencies.
type carried struct {
	key  types.NamespacedName
	spec Spec
}

// carrier is the content of a work: its Applications, and whether the work carries a request for an Application.
type carrier struct {
	apps    []carried
	request bool
}

func carriedBy(w *workv1.ManifestWork) (c carrier) {
	if _, ok := KindOf(w.Name); ok {
		return c
	}
	for _, m := range w.Spec.Workload.Manifests {
		app := &argocd.Application{}
		switch {
		case json.Unmarshal(m.Raw, app) != nil || app.Kind != argocd.Kind:
		case len(app.Spec.Raw) == 0:
			c.request = true
		default:
			c.apps = append(c.apps, carried{types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, readSent(app)})
		}
	}
	return c
}

// releasedTo returns the released Applications of the cluster that use the dependency, including Applications being
// released. The work remembers them. After the end of an Application's own work, no other object tells a released
// Application from a deleted Application. An Application with a new work, from any hub Application, is not in the
// list any more. The works may have any order.
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
		if !work.DependenciesStay(w) {
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

// StaysFor reports whether a dependency's objects stay on the cluster for an Application being released, by the
// agent's status. The result is true for a work being deleted, because its final state is decided.
func StaysFor(w *workv1.ManifestWork, app types.NamespacedName) bool {
	return !w.DeletionTimestamp.IsZero() || IsReleasedTo(w, app) && Seen(w)
}

// Seen reports whether the work agent has handled the present generation of the work, with or without success.
func Seen(w *workv1.ManifestWork) bool {
	c := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied)
	return c != nil && c.ObservedGeneration == w.Generation
}

// Applied reports whether the work agent has applied the present generation of the work.
func Applied(w *workv1.ManifestWork) bool {
	return Seen(w) && meta.IsStatusConditionTrue(w.Status.Conditions, workv1.WorkApplied)
}
