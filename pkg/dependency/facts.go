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

// Options are the settings for all dependencies.
type Options struct {
	// ArgoCDNamespace is the namespace of the hub's Argo CD, with its AppProjects and Secrets.
	ArgoCDNamespace string

	// ClusterNamespace is the namespace of the clusters' Argo CDs, unless a ManagedCluster names another namespace.
	ClusterNamespace string

	// Projects is true if AppProjects travel.
	Projects bool

	// Namespaces is true if Towline creates the namespaces of Applications on clusters.
	Namespaces bool

	// Objects is true if Applications may name Secrets and ConfigMaps. Towline needs the right to read all of them.
	Objects bool

	// Grace is how long a credential's Secret must be missing on the hub before its clusters lose the copy; 0 stands
	// for DefaultGrace.
	Grace time.Duration
}

// DefaultGrace is how long a Secret may be missing. A restore creates objects one by one, and a replacement deletes
// an object before the new object exists.
const DefaultGrace = time.Minute

// FactSet is a set of facts for few decisions. The caller reads these facts only on demand.
type FactSet int

const (
	// FactProject is the AppProject with the name from Facts.ProjectName.
	FactProject FactSet = 1 << iota

	// FactRequested stands for the specs of the hub's Applications whose works on the cluster carry a request.
	FactRequested

	// FactObjects stands for the objects from Facts.Wanted, read past the cache.
	FactObjects

	// FactOlder is whether an older controller has sent the AppProject from Facts.ProjectThere.
	FactOlder
)

// Object is an object of the hub.
type Object interface {
	metav1.Object
	runtime.Object
}

// Facts are all inputs of a decision about the work of a dependency. The objects belong to the cache: do not change
// them.
type Facts struct {
	// Now is the current time.
	Now time.Time

	// Key is the namespace and name of the work. The name tells the dependency.
	Key types.NamespacedName

	// Work is the present work; nil for none.
	Work *workv1.ManifestWork

	// Works are all works of the cluster. They are known if Work is set.
	Works []*workv1.ManifestWork

	// Cluster is the ManagedCluster. ClusterArgoCD is the namespace of the cluster's Argo CD, from the annotation.
	Cluster       managedcluster.Facts
	ClusterArgoCD string

	// TrackingLabel is the label by which the hub's Argo CD tracks deployed objects, if it is not the default label.
	// The label does not travel.
	TrackingLabel string

	// Credentials are the scopes of the hub's credentials for repositories. Secrets are the Secrets of these scopes.
	Credentials Credentials
	Secrets     []corev1.Secret

	// Users are the Applications that may need the dependency, up to the first Application that needs it: see
	// Suffices. For objects, Users holds only the Application with the annotation, if the Application exists.
	Users []User

	// Requested are the specs of the hub's Applications whose works on the cluster carry a request.
	Requested []Spec

	// Project is the AppProject of the work, or the Application's AppProject for objects; nil if the hub has none.
	Project *argocd.AppProject

	// SentByOlder is true if an older controller has sent the AppProject to the cluster.
	SentByOlder bool

	// Secret is the hub's Secret of the work; nil if the hub has none. MissingSince is when the Secret went missing.
	// SecretBehind is set if the API server has the Secret, but not yet the cache.
	Secret       *corev1.Secret
	MissingSince time.Time
	SecretBehind bool

	// Certificates, Keys and HostKeys are the ConfigMaps of the hub's Argo CD with trusted certificates, public keys
	// and host keys; nil for none. In the work of a certificate, MissingSince is when Certificates went missing. No gate
	// waits for missing HostKeys, because the host keys stay on the cluster.
	Certificates, Keys, HostKeys *corev1.ConfigMap

	// OwnWorkExists is true if the cluster has the work of the Application with the objects.
	OwnWorkExists bool

	// Named are the objects in the Application's annotation, by references without targets. A missing object has no
	// entry.
	Named map[Reference]Object

	// Dependencies are the existing works of the Application's dependencies, of all kinds.
	Dependencies []*workv1.ManifestWork

	// Executor is the ServiceAccount for the Application's work. ExecutorInvalid is set if the AppProject does not
	// name a valid ServiceAccount.
	Executor        types.NamespacedName
	ExecutorInvalid bool

	// Refresh is the last request for a refresh of the Application.
	Refresh Refresh

	// Known are the facts that the caller has read.
	Known FactSet

	// Live is set if the caller has read the facts for a deletion past the cache.
	Live bool

	// carriers are the Applications in the works of Works, as far as a decision has read them. A decision about an
	// AppProject reads each work up to five times. During the deletion of 500 Applications of one cluster, the decoding of
	// the works was half of Towline's CPU.
	carriers map[*workv1.ManifestWork]carrier
}

// User is an Application that may need a dependency.
type User struct {
	App *argocd.Application

	// Permitted is true if the spec of the Application may be on the cluster, by the hub's objects alone.
	// OperationPermitted is true if the requested operation may be there too.
	Permitted, OperationPermitted bool

	// Paused names the hub object with the pause annotation, except a cluster; empty for none.
	Paused string

	// Own is the Application's own work; nil for none.
	Own *workv1.ManifestWork
}

// DeliveryRequested reports whether an Application requests delivery to a cluster. A requested operation does not matter: if the
// operation may not travel, Towline blocks only the operation.
func DeliveryRequested(app *argocd.Application) bool {
	return app.Pulled() && app.ReconcileSkipped() && !app.ToBeReleased() && app.Cluster() != ""
}

// travels reports whether the present spec may be on the cluster, and the Application is not paused.
func (u *User) travels() bool { return DeliveryRequested(u.App) && u.Permitted && u.Paused == "" }

// Sent reports whether the Application may be on the cluster and has a work there.
func (u *User) Sent() bool { return u.travels() && u.Own != nil && u.Own.DeletionTimestamp.IsZero() }

// Kind returns the kind of the work.
func (f *Facts) Kind() Kind {
	kind, _ := KindOf(f.Key.Name)
	return kind
}

// Leads reports whether the work goes ahead of the Applications, and leaves its objects on the cluster.
func (f *Facts) Leads() bool { return f.Kind().leads() }

// Widens reports whether the delivered AppProject must permit more for the Application than for the observed
// Applications.
func (f *Facts) Widens(app *argocd.Application) bool {
	return goesElsewhere(app) || f.readsOtherwise(app) || app.ClusterNamespace() != app.Namespace && !slices.ContainsFunc(f.Users, func(u User) bool {
		return u.Permitted && u.App.Namespace == app.Namespace && u.App.ClusterNamespace() == app.ClusterNamespace()
	})
}

// Absent reports whether the hub lacks the source object of a work with a credential, a certificate or host keys.
func (f *Facts) Absent() bool {
	switch f.Kind() {
	case Certificate:
		return f.Certificates == nil
	case HostKeys:
		return f.HostKeys == nil
	case Project, Credential, Objects, Namespace:
	}
	return f.Secret == nil
}

// Concerns reports whether an Application of the cluster would use the dependency.
func (f *Facts) Concerns(app *argocd.Application) bool {
	switch f.Kind() {
	case Project:
		return ProjectKey(f.Key.Namespace, ReadSpec(app).Project) == f.Key
	case Credential:
		return f.Secret != nil && propagates(f.Secret.Annotations) && f.Credentials.Needs(f.Read(app), f.Secret.Name)
	case Certificate:
		host, _ := f.certificate()
		return host != "" && f.Read(app).connects(host)
	case HostKeys:
		return f.hostKeys() != "" && f.Read(app).connectsBySSH()
	case Namespace:
		return NamespaceKey(f.Key.Namespace, app.ClusterNamespace()) == f.Key
	case Objects:
	}
	return ObjectsKey(work.Key(app)) == f.Key
}

// Suffices reports whether an Application needs the dependency. Then the caller reads no more Applications. The
// dependency must concern the Application. An AppProject or a namespace goes ahead of the Applications. A credential
// follows the Applications, and a permitted operation needs it too.
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

// ProjectName returns the name of the work's AppProject. The name comes from an Application that may be on the
// cluster. Otherwise it comes from a delivered Application, even if the Application is forbidden or being removed. It
// is empty if no Application uses the project.
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

// ProjectThere returns the namespace and name of the AppProject on the cluster.
func (f *Facts) ProjectThere(o Options) types.NamespacedName {
	return types.NamespacedName{Namespace: f.argocdNamespace(o), Name: f.Project.Name}
}

// spec returns the spec of the Application with the objects.
func (f *Facts) spec() Spec {
	if len(f.Users) == 0 {
		return Spec{}
	}
	return f.Read(f.Users[0].App)
}

// carried returns the specs of the Applications in the works of the cluster, including works being deleted. The
// cluster may have changed the specs. They are only a reason to keep objects on the cluster. A work with a request
// does not tell the Application's dependencies there: the hub's spec counts instead, and may be incomplete. Then all
// is false.
func (f *Facts) carried() (specs []Spec, all bool) {
	all = true
	for _, w := range f.Works {
		c := f.carriedBy(w)
		for _, app := range c.apps {
			specs = append(specs, app.spec)
		}
		all = all && !c.request
	}
	return append(specs, f.Requested...), all
}

// carriedBy returns the Applications in a work of the cluster. Each work is decoded once.
func (f *Facts) carriedBy(w *workv1.ManifestWork) carrier {
	c, known := f.carriers[w]
	if !known {
		if f.carriers == nil {
			f.carriers = make(map[*workv1.ManifestWork]carrier, len(f.Works))
		}
		c = carriedBy(w)
		f.carriers[w] = c
	}
	return c
}

// Needed returns the works that the Application may need, of all kinds.
func (f *Facts) Needed() []types.NamespacedName {
	return Keys(work.Key(f.Users[0].App), f.Credentials, f.spec())
}

// argocdNamespace returns the namespace where the cluster's Argo CD looks for AppProjects and Secrets.
func (f *Facts) argocdNamespace(o Options) string {
	return cmp.Or(f.ClusterArgoCD, o.ClusterNamespace)
}

// shared reports whether the cluster uses the hub's own Argo CD, which has the AppProjects and credentials already. A
// delivered copy would overwrite its own original.
func (f *Facts) shared(o Options) bool {
	return f.Cluster.Exists && f.Cluster.Hub && f.argocdNamespace(o) == o.ArgoCDNamespace
}

// target returns the cluster in the terms of AppProjects.
func (f *Facts) target() authorization.Cluster {
	return authorization.Cluster{Name: f.Cluster.Name, Server: f.Cluster.Server, Hub: f.Cluster.Hub}
}

// SecretOf returns the Secret of a credential's work; nil for none.
func SecretOf(key types.NamespacedName, secrets []corev1.Secret) *corev1.Secret {
	i := slices.IndexFunc(secrets, func(s corev1.Secret) bool { return CredentialKey(key.Namespace, s.Name) == key })
	if i < 0 {
		return nil
	}
	return &secrets[i]
}
