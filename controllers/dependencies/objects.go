package dependencies

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/work"
)

// objectsWork tells what becomes of the work that carries what an Application names, and says on the Application what is
// wrong with its dependencies, of all kinds. The work goes after the Application's own: what runs may need it to the end.
func (r *Reconciler) objectsWork(ctx context.Context, key types.NamespacedName, existing *workv1.ManifestWork) (want, error) {
	apps := index.ApplicationsOfObjectsWork(ctx, r, key)
	if len(apps) == 0 {
		r.troubled.Set(troubledApplications, key, "")
		r.nudged.forget(key)
		return r.abandoned(ctx, key)
	}
	app := &apps[0]
	if by, err := r.Pauses.By(ctx, app); err != nil || by != "" {
		return keep, err
	}
	sent, err := r.sent(ctx, app)
	if err != nil {
		return keep, err
	}
	if !sent {
		return r.notSent(ctx, key, app)
	}
	want, problems, err := r.named(ctx, app, existing)
	if err != nil {
		return keep, err
	}
	refused, err := r.refused(ctx, app)
	if err != nil {
		return keep, err
	}
	unfit, err := r.unfit(ctx, app)
	if err != nil {
		return keep, err
	}
	if err := r.report(ctx, app, slices.Concat(problems, unfit, refused)); err != nil {
		return keep, err
	}
	want.after, err = r.nudge(ctx, app)
	return want, err
}

// notSent tells what becomes of the work when the Application is not on its cluster. Nothing is wrong with its dependencies
// then; and one that is being deleted is left alone.
func (r *Reconciler) notSent(ctx context.Context, key types.NamespacedName, app *argocd.Application) (want, error) {
	r.nudged.forget(key)
	if app.DeletionTimestamp.IsZero() {
		if err := r.report(ctx, app, nil); err != nil {
			return keep, err
		}
	}
	return r.abandoned(ctx, key)
}

// abandoned tells what becomes of the work when there is no such Application that could be sent: it stays while the
// Application's own does.
func (r *Reconciler) abandoned(ctx context.Context, key types.NamespacedName) (want, error) {
	if len(index.WorksBesideObjects(ctx, r, key)) > 0 {
		return keep, nil
	}
	return end, nil
}

// named is the work of what an Application names, and what is wrong with that. existing is the one that there is; nil for
// none.
func (r *Reconciler) named(ctx context.Context, app *argocd.Application, existing *workv1.ManifestWork) (want, []problem, error) {
	refs, err := dependency.References(app.Annotations[apis.AnnotationWith])
	switch {
	case err != nil:
		return keep, []problem{problemf(apis.ReasonDependencyInvalid, "annotation %s: %s", apis.AnnotationWith, err)}, nil
	case len(refs) == 0:
		return end, nil, nil
	case !r.Objects:
		return end, []problem{problemf(apis.ReasonDependencyInvalid,
			"annotation %s: objects do not travel from this hub: run Towline with --propagate-objects and the right to read them",
			apis.AnnotationWith)}, nil
	}
	spec := dependency.ReadSpec(app)
	if spec.Namespace == "" {
		return keep, []problem{problemf(apis.ReasonDependencyInvalid,
			"annotation %s: the objects go to the destination's namespace, and there is none: set spec.destination.namespace",
			apis.AnnotationWith)}, nil
	}
	if to, err := r.target(ctx, app.Cluster()); err != nil {
		return keep, nil, err
	} else if to.Hub && spec.Namespace == app.Namespace {
		return end, []problem{problemf(apis.ReasonDependencyInvalid,
			"annotation %s: cluster %s is the hub itself, and the objects are in namespace %s already, where they would be laid over "+
				"themselves: take the annotation off, or set spec.destination.namespace to another namespace",
			apis.AnnotationWith, to.Name, app.Namespace)}, nil
	}
	set, problems, err := r.collect(ctx, app.Namespace, spec, refs, existing)
	if err != nil {
		return keep, nil, err
	}
	if len(set.Secrets)+len(set.ConfigMaps) == 0 {
		return end, problems, nil
	}
	w, err := dependency.RenderObjects(work.Key(app), spec.Namespace, set)
	if err != nil {
		return keep, append(problems, problemf(apis.ReasonDependencyInvalid, "annotation %s: %s", apis.AnnotationWith, err)), nil
	}
	executor, named, err := r.executor(ctx, app)
	if err != nil || !named {
		return keep, problems, err
	}
	work.ExecuteAs(w, executor)
	return want{work: w}, problems, nil
}

// executor is the ServiceAccount that the Application itself is applied for, lest what it names gets past its rights. It
// is false when the AppProject does not name one as it should: propagation says so.
func (r *Reconciler) executor(ctx context.Context, app *argocd.Application) (types.NamespacedName, bool, error) {
	project, err := r.Grants.Project(ctx, app.Project())
	if err != nil || project == nil || project.Annotations[apis.AnnotationExecutor] == "" {
		return r.Executor, err == nil, err
	}
	named, err := authorization.ParseServiceAccount(project.Annotations[apis.AnnotationExecutor])
	return named, err == nil, nil
}

// collect reads what an Application names. What may not travel or is not permitted is left out. What is missing stays as
// existing brought it: nobody has said that the cluster is not to have it any more, and what runs there uses it.
func (r *Reconciler) collect(
	ctx context.Context, namespace string, spec dependency.Spec, refs []dependency.Reference, existing *workv1.ManifestWork,
) (dependency.ObjectSet, []problem, error) {
	var set dependency.ObjectSet
	var problems []problem
	forbidden, err := r.forbiddenKinds(ctx, spec.Project)
	if err != nil {
		return set, nil, err
	}
	for _, ref := range refs {
		if forbidden[ref.Kind] {
			problems = append(problems, problemf(apis.ReasonDependencyForbidden,
				"%s: AppProject %s does not permit objects of kind %s: permit them in its spec.namespaceResourceWhitelist or "+
					"namespaceResourceBlacklist", ref, spec.Project, ref.Kind))
			continue
		}
		var obj client.Object = &corev1.Secret{}
		if ref.Kind == dependency.ConfigMapKind {
			obj = &corev1.ConfigMap{}
		}
		err := r.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, obj)
		switch {
		case apierrors.IsNotFound(err):
			problems = append(problems, problemf(apis.ReasonDependencyMissing,
				"there is no %s in namespace %s of the hub: make it, or take it out of the annotation %s", ref, namespace, apis.AnnotationWith))
			if existing != nil {
				set.Keep(existing, ref, spec.Namespace, namespace)
			}
		case err != nil:
			return set, nil, err
		case !dependency.Propagates(obj.GetAnnotations()):
			problems = append(problems, about(obj, problemf(apis.ReasonDependencyMissing,
				"%s in namespace %s may not travel: its owner can let it, by the annotation %s: \"true\"", ref, namespace, apis.AnnotationPropagate)))
		default:
			add(&set, obj)
		}
	}
	return set, problems, nil
}

func add(set *dependency.ObjectSet, obj client.Object) {
	switch o := obj.(type) {
	case *corev1.Secret:
		set.Secrets = append(set.Secrets, o)
	case *corev1.ConfigMap:
		set.ConfigMaps = append(set.ConfigMaps, o)
	}
}

// forbiddenKinds are the kinds that the project does not permit. It returns an error for a project that is not there: an
// Application of such a one is not sent, and what it has stays.
func (r *Reconciler) forbiddenKinds(ctx context.Context, name string) (map[dependency.ObjectKind]bool, error) {
	p := &argocd.AppProject{}
	err := r.Get(ctx, types.NamespacedName{Namespace: r.ArgoCDNamespace, Name: name}, p)
	if err != nil {
		return nil, err
	}
	out := map[dependency.ObjectKind]bool{}
	for _, kind := range []dependency.ObjectKind{dependency.SecretKind, dependency.ConfigMapKind} {
		out[kind] = !dependency.KindPermitted(p, kind)
	}
	return out, nil
}

// objectOf is the metadata of a Secret or ConfigMap that is watched.
func objectOf(kind dependency.ObjectKind) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: string(kind)}}
}

// reference is how an Application of its namespace names an object.
func reference(obj client.Object, kind dependency.ObjectKind) string {
	return obj.GetNamespace() + "/" + strings.ToLower(string(kind)) + "/" + obj.GetName()
}
