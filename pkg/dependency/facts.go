package dependency

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

// Options are what is said for all dependencies.
type Options struct {
	// ArgoCDNamespace is where the hub's Argo CD has its AppProjects and Secrets.
	ArgoCDNamespace string

	// ClusterNamespace is where the clusters' Argo CDs have theirs, unless a ManagedCluster says otherwise.
	ClusterNamespace string

	// Projects tells whether AppProjects travel.
	Projects bool

	// Namespaces tells whether Towline brings the namespaces in which Applications arrive.
	Namespaces bool

	// Objects tells whether Applications may name Secrets and ConfigMaps, which takes the right to read all of them.
	Objects bool

	// Grace is how long a credential's Secret must have been missing on the hub before its clusters lose it; 0 stands for
	// DefaultGrace.
	Grace time.Duration
}

// DefaultGrace is how long a Secret may be missing: a restore puts objects back one after another, and an object is replaced
// by being deleted and made again.
const DefaultGrace = time.Minute

// Need is a set of facts that few decisions depend on. They are read when a decision asks for them.
type Need int

const (
	// NeedProject is the AppProject of the name that Facts.ProjectName tells.
	NeedProject Need = 1 << iota

	// NeedRequested is the specs of the hub's Applications whose works on the cluster carry a request.
	NeedRequested

	// NeedObjects is the objects that Facts.Wanted names, past the cache.
	NeedObjects

	// NeedBrought is whether an older controller has sent the AppProject that Facts.ProjectThere names.
	NeedBrought
)

// Object is an object of the hub.
type Object interface {
	metav1.Object
	runtime.Object
}

// Facts are all that a decision about one dependency's work depends on. Objects are the cache's own: nobody changes them.
type Facts struct {
	// Now is the time.
	Now time.Time

	// Key names the work, and by its name what it carries.
	Key types.NamespacedName

	// Work is the work as it is; nil when there is none.
	Work *workv1.ManifestWork

	// Works are all works of the cluster. They are known where Work is one.
	Works []*workv1.ManifestWork

	// Cluster is the ManagedCluster, and ClusterArgoCD is the namespace of its Argo CD, where its annotation says that.
	Cluster       managedcluster.Facts
	ClusterArgoCD string

	// TrackingLabel is the label by which the hub's Argo CD tracks what it deployed, where that is not its default. It does
	// not travel.
	TrackingLabel string

	// Credentials are what the hub has for repositories, and Secrets are their Secrets.
	Credentials Credentials
	Secrets     []corev1.Secret

	// Users are the Applications that may need the dependency, up to the first that does: see Suffices. For objects it is the
	// one that names them, if there is one.
	Users []User

	// Requested are the specs of the hub's Applications whose works on the cluster carry a request.
	Requested []Spec

	// Project is the AppProject that the work is for, for objects the Application's; nil when the hub has none.
	Project *argocd.AppProject

	// Brought tells whether an older controller has sent the AppProject to the cluster.
	Brought bool

	// Secret is the hub's Secret that the work carries; nil when the hub has none. MissingSince is since when it has none,
	// and SecretBehind is set when the API server has it and the cache has not.
	Secret       *corev1.Secret
	MissingSince time.Time
	SecretBehind bool

	// Certificates and Keys are the ConfigMaps of the hub's Argo CD with what it trusts; nil for none. MissingSince is since when
	// Certificates are missing, in the work of a certificate.
	Certificates, Keys *corev1.ConfigMap

	// Beside tells whether the cluster has the work of the Application that the objects are for.
	Beside bool

	// Named are the objects that the Application names, by references without targets; one that is missing is not among them.
	Named map[Reference]Object

	// Dependencies are the works that the Application needs, of all kinds, as far as there are such.
	Dependencies []*workv1.ManifestWork

	// Executor is for whom the Application is applied. ExecutorInvalid is set when its AppProject names none as it should.
	Executor        types.NamespacedName
	ExecutorInvalid bool

	// Refresh is what is remembered of the last request for a refresh of the Application.
	Refresh Refresh

	// Known are the needs that were read.
	Known Need

	// Live is set when what a deletion depends on was read past the cache.
	Live bool
}

// User is an Application that may need a dependency.
type User struct {
	App *argocd.Application

	// Permitted tells whether what its spec asks for may be on the cluster, by the hub's objects alone, and
	// OperationPermitted the same of the operation that it requests.
	Permitted, OperationPermitted bool

	// Paused names the object of the hub, other than a cluster, that pauses it; empty for none.
	Paused string

	// Own is its own work; nil when there is none.
	Own *workv1.ManifestWork
}

// Asks tells whether an Application asks to be on a cluster. An operation that it requests does not matter: where that may
// not travel, it alone is held back.
func Asks(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && !app.ToBeReleased() && app.Cluster() != ""
}

// travels tells whether it may be on its cluster as the hub has it now, and nothing pauses it.
func (u *User) travels() bool { return Asks(u.App) && u.Permitted && u.Paused == "" }

// Sent tells whether an Application that may be on its cluster has a work there.
func (u *User) Sent() bool { return u.travels() && u.Own != nil && u.Own.DeletionTimestamp.IsZero() }

// Kind is what the work carries.
func (f *Facts) Kind() Kind {
	kind, _ := KindOf(f.Key.Name)
	return kind
}

// Leads tells whether the work goes ahead of the Applications, and leaves on the cluster what it brought.
func (f *Facts) Leads() bool { return f.Kind().leads() }

// Widens tells whether a delivered AppProject permits more for an Application than for those that were observed.
func (f *Facts) Widens(app *argocd.Application) bool {
	return GoesElsewhere(app) || app.ClusterNamespace() != app.Namespace && !slices.ContainsFunc(f.Users, func(u User) bool {
		return u.Permitted && u.App.Namespace == app.Namespace && u.App.ClusterNamespace() == app.ClusterNamespace()
	})
}

// Absent tells whether the hub lacks the object from which the work of a credential or of a certificate is made.
func (f *Facts) Absent() bool {
	if f.Kind() == Certificate {
		return f.Certificates == nil
	}
	return f.Secret == nil
}

// Concerns tells whether an Application of the cluster would use the dependency.
func (f *Facts) Concerns(app *argocd.Application) bool {
	switch f.Kind() {
	case Project:
		return ProjectKey(f.Key.Namespace, ReadSpec(app).Project) == f.Key
	case Credential:
		return f.Secret != nil && Propagates(f.Secret.Annotations) && f.Credentials.Needs(ReadSpec(app), f.Secret.Name)
	case Certificate:
		host, _ := f.certificate()
		return host != "" && ReadSpec(app).connects(host)
	case Namespace:
		return NamespaceKey(f.Key.Namespace, app.ClusterNamespace()) == f.Key
	case Objects:
	}
	return ObjectsKey(work.Key(app)) == f.Key
}

// Suffices tells whether an Application that the dependency concerns needs it, so that no other has to be looked at. An
// AppProject or a namespace goes ahead of the Applications; a credential follows them, and is needed for an operation that is permitted.
func (f *Facts) Suffices(u *User) bool {
	if f.Kind().leads() {
		return u.travels() && u.App.DeletionTimestamp.IsZero()
	}
	if !u.Sent() {
		return false
	}
	idle := *u.App
	idle.Operation = nil
	return u.OperationPermitted || f.Concerns(&idle)
}

// ProjectName names the AppProject that the work is for: that of an Application which may be on the cluster, or else of one
// that is there, be it forbidden by now or on its way to be removed. It is empty when there is none.
func (f *Facts) ProjectName() string {
	if f.Kind() == Objects {
		return f.spec().Project
	}
	for i := range f.Users {
		if f.Suffices(&f.Users[i]) {
			return ReadSpec(f.Users[i].App).Project
		}
	}
	if f.Work == nil {
		return ""
	}
	specs, _ := f.carried()
	for _, s := range specs {
		if ProjectKey(f.Key.Namespace, s.Project) == f.Key {
			return s.Project
		}
	}
	return ""
}

// ProjectThere is the AppProject as it is on the cluster, or is to be.
func (f *Facts) ProjectThere(o Options) types.NamespacedName {
	return types.NamespacedName{Namespace: f.argocdNamespace(o), Name: f.Project.Name}
}

// spec is that of the Application that names objects.
func (f *Facts) spec() Spec {
	if len(f.Users) == 0 {
		return Spec{}
	}
	return ReadSpec(f.Users[0].App)
}

// carried are the specs of the Applications that the works of the cluster carry, the ones that are going included. The
// cluster may have changed them: they are good for keeping what the cluster has, and for nothing else. A work that
// carries a request does not tell what its Application uses there: the hub's spec counts for it, and is perhaps not all.
func (f *Facts) carried() (specs []Spec, all bool) {
	all = true
	for _, w := range f.Works {
		apps, request := carriedBy(w)
		for _, app := range apps {
			specs = append(specs, app.spec)
		}
		all = all && !request
	}
	return append(specs, f.Requested...), all
}

// Needed are the works that the Application may need, of all kinds.
func (f *Facts) Needed() []types.NamespacedName {
	return Keys(work.Key(f.Users[0].App), f.Credentials, f.spec())
}

// argocdNamespace is where the cluster's Argo CD looks for AppProjects and Secrets.
func (f *Facts) argocdNamespace(o Options) string {
	return cmp.Or(f.ClusterArgoCD, o.ClusterNamespace)
}

// shared tells whether the cluster's Argo CD is the hub's own, which has its AppProjects and credentials already: what
// travels would be laid over what it was made from.
func (f *Facts) shared(o Options) bool {
	return f.Cluster.Exists && f.Cluster.Hub && f.argocdNamespace(o) == o.ArgoCDNamespace
}

// target is the cluster as AppProjects know it.
func (f *Facts) target() authorization.Cluster {
	return authorization.Cluster{Name: f.Cluster.Name, Server: f.Cluster.Server, Hub: f.Cluster.Hub}
}

// SecretOf is the one of the Secrets that a credential's work carries; nil for none.
func SecretOf(key types.NamespacedName, secrets []corev1.Secret) *corev1.Secret {
	i := slices.IndexFunc(secrets, func(s corev1.Secret) bool { return CredentialKey(key.Namespace, s.Name) == key })
	if i < 0 {
		return nil
	}
	return &secrets[i]
}
