package dependencies

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hubapp"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// maxNote is how long the text of an event may be (events.k8s.io/v1).
const maxNote = 1024

// problem is what is wrong with a dependency of an Application, in words for the one who can change it.
type problem struct {
	reason, message string

	// origin is the object of the hub that it is about, whose owner looks there; nil for none.
	origin client.Object
}

func about(o client.Object, p problem) problem {
	p.origin = o
	return p
}

func problemf(reason, format string, args ...any) problem {
	return problem{reason: reason, message: fmt.Sprintf(format, args...)}
}

// refused are the dependencies of an Application that its cluster did not take.
func (r *Reconciler) refused(ctx context.Context, app *argocd.Application) ([]problem, error) {
	keys, err := r.dependenciesOf(ctx, app)
	if err != nil {
		return nil, err
	}
	var out []problem
	for _, key := range keys {
		w, err := r.work(ctx, key)
		if err != nil {
			return nil, err
		}
		if w == nil || !seen(w) || applied(w) {
			continue
		}
		origin, err := r.origin(ctx, key, app)
		if err != nil {
			return nil, err
		}
		out = append(out, about(origin, refusal(w)))
	}
	return out, nil
}

// refusal says why the cluster did not take a dependency. What an API server says of a Secret may quote it, so it stays
// where it is.
func refusal(w *workv1.ManifestWork) problem {
	kind, _ := dependency.KindOf(w.Name)
	if kind != dependency.Project {
		return problemf(apis.ReasonDependencyRefused,
			"cluster %s did not take all of what travels beside this Application: see the status of ManifestWork %s/%s "+
				"for what was refused, and why", w.Namespace, w.Namespace, w.Name)
	}
	why := ""
	for _, m := range w.Status.ResourceStatus.Manifests {
		for _, c := range m.Conditions {
			if c.Type == workv1.ManifestApplied && c.Status == metav1.ConditionFalse {
				why = c.Message
			}
		}
	}
	return problemf(apis.ReasonDependencyRefused,
		"cluster %s has an AppProject of that name that is not the hub's, or cannot take the hub's, and goes by its own: "+
			"delete it there, or annotate the hub's with %s: \"false\" (ManifestWork %s/%s: %s)",
		w.Namespace, apis.AnnotationPropagate, w.Namespace, w.Name, why)
}

// dependenciesOf are the works that an Application may need.
func (r *Reconciler) dependenciesOf(ctx context.Context, app *argocd.Application) ([]types.NamespacedName, error) {
	if app.Cluster() == "" {
		return nil, nil
	}
	known, err := r.credentials(ctx)
	if err != nil {
		return nil, err
	}
	return keysFor(work.Key(app), known, dependency.ReadSpec(app)), nil
}

// keysFor are the works that an Application with that work of its own and that spec may need.
func keysFor(own types.NamespacedName, known dependency.Credentials, spec dependency.Spec) []types.NamespacedName {
	keys := []types.NamespacedName{dependency.ProjectKey(own.Namespace, spec.Project), dependency.ObjectsKey(own)}
	return append(keys, credentialKeys(own.Namespace, known, spec)...)
}

// credentialKeys are the works of the credentials that an Application with that spec would use on the cluster.
func credentialKeys(cluster string, known dependency.Credentials, spec dependency.Spec) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, repo := range spec.Repositories {
		for _, secret := range known.For(spec.Project, repo) {
			keys = append(keys, dependency.CredentialKey(cluster, secret))
		}
	}
	return keys
}

// report makes the Application's condition say what is wrong with its dependencies, or that nothing is. Events come with
// new words only, after they have been written: on the Application, and on what it is about.
func (r *Reconciler) report(ctx context.Context, app *argocd.Application, problems []problem) error {
	message, reason := "", ""
	if len(problems) > 0 {
		reason = problems[0].reason
		texts := make([]string, len(problems))
		for i, p := range problems {
			texts[i] = p.message
		}
		message = feedback.Clean(strings.Join(texts, "; "), feedback.MaxMessage)
	}
	r.troubled.Set(troubledApplications, dependency.ObjectsKey(work.Key(app)), reason)
	conditions := showing(app.Status.Conditions, message, metav1.Now())
	if argocd.SameConditions(app.Status.Conditions, conditions) {
		return nil
	}
	if _, err := hubapp.Write(ctx, r.Client, app, &argocd.Patch{Conditions: conditions}); err != nil {
		return client.IgnoreNotFound(err)
	}
	if message != "" {
		r.Events.Eventf(app, nil, corev1.EventTypeWarning, reason, "Propagate", "%s", feedback.Clean(message, maxNote))
	}
	for _, p := range problems {
		if p.origin != nil {
			r.Events.Eventf(p.origin, app, corev1.EventTypeWarning, p.reason, "Propagate", "%s",
				feedback.Clean(fmt.Sprintf("for Application %s/%s: %s", app.Namespace, app.Name, p.message), maxNote))
		}
	}
	return nil
}

// showing is a list of conditions with this controller's saying that, or without it when there is nothing to say.
func showing(before []argocd.Condition, message string, now metav1.Time) []argocd.Condition {
	var wanted []argocd.Condition
	if message != "" {
		wanted = append(wanted, argocd.Condition{Type: apis.ConditionDependencyError, Message: message})
	}
	return argocd.SetConditions(before, wanted, func(t string) bool { return t == apis.ConditionDependencyError }, now)
}
