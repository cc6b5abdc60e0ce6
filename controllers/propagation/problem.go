package propagation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// Problem is why an Application cannot be sent to its cluster, in words for the one who can change that.
type Problem struct {
	// Reason is one of the Reason… constants of package apis, or silent.
	Reason string

	// Message says what is wrong and what to do.
	Message string

	// Condition is the type of the condition that shows it; empty for PropagationError.
	Condition string

	// beside is a notice that is shown as well; nil for none.
	beside *Problem

	// cause is set where no watch tells when the problem is over, so that it has to be tried again.
	cause error
}

// silent is the reason of what an event has told of before: there is none of the condition.
const silent = ""

func (p *Problem) Error() string { return p.Message }

// reason is by what the problem is counted; empty where it is not.
func (p *Problem) reason() string {
	if p == nil || p.notice() && p.Reason != apis.ReasonPaused {
		return ""
	}
	return p.Reason
}

func problemf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// noticef is a Problem that is none: what someone asked for takes its time, or holds until that one changes it.
func noticef(condition, reason, format string, args ...any) *Problem {
	p := problemf(reason, format, args...)
	p.Condition = condition
	return p
}

// notice tells whether the problem is none.
func (p *Problem) notice() bool { return p != nil && slices.Contains(notices, p.Condition) }

// meanwhile is the problem with what is under way put behind it, and with what has to be tried again for that; the notice
// may be nil.
func (p *Problem) meanwhile(notice *Problem) *Problem {
	if notice != nil {
		p.Message, p.cause = p.Message+"; meanwhile it is "+notice.Message, notice.cause
	}
	return p
}

// notices are the types of the conditions that show what is no problem.
var notices = []string{
	apis.ConditionPausedWarning, apis.ConditionReleaseWarning, apis.ConditionMoveWarning, apis.ConditionDeletionWarning,
}

// condition is the type of the condition that shows the problem; empty for none.
func (p *Problem) condition() string {
	if p == nil {
		return ""
	}
	return cmp.Or(p.Condition, apis.ConditionPropagationError)
}

// checkName is the problem with the name of the Application's cluster; nil when there is none.
func checkName(app *argocd.Application) *Problem {
	if app.Cluster() == "" {
		return problemf(apis.ReasonClusterAnnotationMissing,
			"the pull label is set but no cluster is named: set the annotation %s to the name of a ManagedCluster",
			apis.AnnotationCluster)
	}
	if errs := validation.IsDNS1123Label(app.Cluster()); len(errs) > 0 {
		return problemf(apis.ReasonClusterNameInvalid,
			"annotation %s: %.80q cannot be the name of a ManagedCluster: %s",
			apis.AnnotationCluster, app.Cluster(), strings.Join(errs, "; "))
	}
	return nil
}

// canBeSomewhere tells whether there can be a work of the Application at all.
func canBeSomewhere(app *argocd.Application) bool { return checkName(app) == nil }

// checkApplication is the problem that can be seen from the Application alone; nil when there is none.
func checkApplication(app *argocd.Application) *Problem {
	if p := checkName(app); p != nil {
		return p
	}
	if errs := validation.IsDNS1123Label(app.ClusterNamespace()); len(errs) > 0 {
		return problemf(apis.ReasonNamespaceInvalid,
			"annotation %s: %.80q cannot be a namespace: %s",
			apis.AnnotationAppNamespace, app.ClusterNamespace(), strings.Join(errs, "; "))
	}
	if !app.ReconcileSkipped() {
		return problemf(apis.ReasonSkipReconcileMissing,
			"the hub's own Argo CD would deploy this Application too: set the annotation %s to \"true\" "+
				"(in the template of its ApplicationSet, if it has one)", apis.AnnotationSkipReconcile)
	}
	return checkValues(app)
}

// checkCluster is the problem with the target of an Application; nil when there is none. cluster is nil when
// there is no such ManagedCluster.
func checkCluster(app *argocd.Application, cluster *clusterv1.ManagedCluster) *Problem {
	switch {
	case cluster == nil:
		return problemf(apis.ReasonClusterNotFound,
			"there is no ManagedCluster %q: import the cluster, or correct the annotation %s",
			app.Cluster(), apis.AnnotationCluster)
	case !cluster.DeletionTimestamp.IsZero():
		return problemf(apis.ReasonClusterDeleting,
			"ManagedCluster %q is being deleted: name another cluster in the annotation %s, or delete this Application",
			cluster.Name, apis.AnnotationCluster)
	case !cluster.Spec.HubAcceptsClient:
		return problemf(apis.ReasonClusterNotAccepted,
			"ManagedCluster %q is not accepted: set its spec.hubAcceptsClient to true (clusteradm accept --clusters %s)",
			cluster.Name, cluster.Name)
	case authorization.IsHub(cluster) && app.ClusterNamespace() == app.Namespace:
		return problemf(apis.ReasonLocalClusterConflict,
			"ManagedCluster %q is the hub itself, where this Application would overwrite its own copy in namespace %q: "+
				"set the annotation %s to another namespace", cluster.Name, app.Namespace, apis.AnnotationAppNamespace)
	}
	return nil
}

// renderProblem says in the user's terms why an Application has no ManifestWork.
func renderProblem(err error) *Problem {
	if large, ok := errors.AsType[*work.TooLargeError](err); ok {
		return problemf(apis.ReasonPayloadTooLarge,
			"%s: move inline values and manifests into the Git repository, or split the Application", large)
	}
	return problemf(apis.ReasonSpecInvalid, "the Application cannot be read: %s: correct the field", err)
}

// writeProblem turns the API server's refusal of a work into a Problem; any other error is returned as it is.
func writeProblem(err error, key string) error {
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return err
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &Problem{
			Reason:  apis.ReasonClusterNamespaceMissing,
			Message: fmt.Sprintf("ManifestWork %s: the cluster's namespace on the hub is missing or going: %s", key, err),
			cause:   err,
		}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return &Problem{
			Reason:  apis.ReasonWorkRejected,
			Message: fmt.Sprintf("the hub refused ManifestWork %s: %s", key, err),
			cause:   err,
		}
	}
	return err
}

// joined is what to return of several steps of which none keeps the others from being taken: the first Problem, with
// the rest as its cause; or else what failed; or else the shortest wait. It is nil when all went well.
func joined(errs []error) error {
	var first *Problem
	var failed []error
	var wait time.Duration
	later := false
	for _, err := range errs {
		if p, is := errors.AsType[*Problem](err); is {
			if err = p.cause; first == nil {
				shown := *p
				first = &shown
			}
		}
		w, waits := errors.AsType[waiting](err)
		switch {
		case waits:
			wait = soonest(wait, time.Duration(w))
		case errors.Is(err, errLater):
			later = true
		case err != nil:
			failed = append(failed, err)
		}
	}
	err := errors.Join(failed...)
	switch {
	case err == nil && wait > 0:
		err = waiting(wait)
	case err == nil && later:
		err = errLater
	}
	if first == nil {
		return err
	}
	first.cause = err
	return first
}
