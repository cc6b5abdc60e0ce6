package dependencies

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/towline-io/towline/controllers/grants"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/retry"
	"github.com/towline-io/towline/controllers/internal/tally"
	"github.com/towline-io/towline/controllers/internal/tracking"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,namespace=argocd,resources=appprojects,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=argocd,resources=secrets,verbs=list;watch

// Options say what travels.
type Options struct {
	// ArgoCDNamespace is where the hub's Argo CD has its AppProjects and Secrets; empty: as authorization has it.
	ArgoCDNamespace string

	// ClusterNamespace is where the clusters' Argo CDs have theirs, unless a ManagedCluster says otherwise; empty:
	// ArgoCDNamespace.
	ClusterNamespace string

	// Projects tells whether AppProjects travel.
	Projects bool

	// Objects tells whether Applications may name Secrets and ConfigMaps, which takes the right to read all of them.
	Objects bool

	// Grace is how long a credential's Secret must have been missing on the hub before its clusters lose it; 0 stands for
	// DefaultGrace.
	Grace time.Duration
}

// DefaultGrace is how long a Secret may be missing: objects are not put back all at once in a restore, and are replaced by
// being deleted and made again.
const DefaultGrace = time.Minute

// Reconciler keeps one dependency work as it should be. What it remembers can be lost at any time.
type Reconciler struct {
	client.Client
	Options

	// Executor is the ServiceAccount of the clusters whose rights are needed for what an Application names, as they are
	// for the Application itself; see propagation.Reconciler.
	Executor types.NamespacedName

	// Live reads from the API server, past the cache.
	Live client.Reader

	// Events records what people should see on the Application.
	Events events.EventRecorder

	// Pauses tells what is paused.
	Pauses *pause.Reader

	// Tracking knows the label by which the hub's Argo CD tracks what it deployed.
	Tracking *tracking.Reader

	// Grants tells whether Applications may be where they ask to be. What it reads, propagation watches.
	Grants *grants.Checker

	running  controller.Controller
	scopes   scopes
	missing  missing
	nudged   nudged
	troubled tally.Reasons
}

// Reconcile looks at the dependency work that req names.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	existing, err := r.work(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if existing == nil {
		r.missing.forget(req.NamespacedName)
	}
	want, err := r.want(ctx, req.NamespacedName, existing)
	if err == nil && existing != nil {
		want.left, err = r.leftTo(ctx, req.NamespacedName, existing)
	}
	if err == nil && existing != nil {
		want.originals, err = r.originals(ctx, existing)
	}
	if err == nil {
		want.label, err = r.Tracking.LabelKey(ctx)
	}
	if err == nil {
		err = r.settle(ctx, req.NamespacedName, existing, want)
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retry.Conflict}, nil
	}
	return ctrl.Result{RequeueAfter: want.after}, err
}

// want is what should become of a dependency work.
type want struct {
	// work is what it should say; nil when it should say nothing new.
	work *workv1.ManifestWork

	// left are the Applications of the cluster that were let go of and go on using what it carries.
	left []types.NamespacedName

	// originals tells that it carries objects of the hub to where they are. They stay, whatever is asked for.
	originals bool

	// end asks for its end, and for that of the rights that it gives. What it carries stays for those that are left.
	end bool

	// withdrawn asks for the end of all of it, whoever uses it: its owner does not let it travel any more.
	withdrawn bool

	// letGo asks for its end, and leaves what it carries to the cluster as it is.
	letGo bool

	// unfit tells that it cannot say what it should, because that is too large.
	unfit error

	// after is when to look again though nothing has changed; zero for never.
	after time.Duration

	// label is the one by which the hub's Argo CD tracks what it deployed, where that is not its default. It does not travel.
	label string
}

// unmark takes the hub's label off what a work carries.
func (w want) unmark(out *workv1.ManifestWork) {
	if out != nil && w.label != "" {
		work.Unmark(out, w.label)
	}
}

var (
	keep      = want{}
	end       = want{end: true}
	withdrawn = want{withdrawn: true}
	letGo     = want{letGo: true}
)

func (r *Reconciler) want(ctx context.Context, key types.NamespacedName, existing *workv1.ManifestWork) (want, error) {
	kind, _ := dependency.KindOf(key.Name)
	switch kind {
	case dependency.Project:
		return r.project(ctx, key, existing)
	case dependency.Credential:
		return r.credential(ctx, key, existing)
	case dependency.Objects:
		return r.objectsWork(ctx, key, existing)
	}
	return keep, nil
}

// work is a ManifestWork as the cache has it; nil when there is none.
func (r *Reconciler) work(ctx context.Context, key types.NamespacedName) (*workv1.ManifestWork, error) {
	w := &workv1.ManifestWork{}
	err := r.Get(ctx, key, w)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return w, err
}
