package dependency

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/work"
)

// objects decides about the work of the objects in an Application's annotation. It also sets the Application's
// condition for problems with dependencies of all kinds. The work outlives the Application's own work: the workload
// may need the objects to the end.
func (d *decision) objects() Intent {
	if len(d.Users) == 0 {
		d.plan.Silent, d.plan.Refresh = false, &Refresh{}
		return Unused
	}
	if d.blocked(ShowState) {
		return Keep
	}
	u := &d.Users[0]
	if !u.Sent() {
		d.plan.Refresh = &Refresh{}
		if u.App.DeletionTimestamp.IsZero() { // an unsent Application needs no dependencies yet, and has no problems with them
			d.show(u.App, nil)
		}
		return Unused
	}
	intent, problems := d.named(u.App)
	problems = slices.Concat(problems, d.oversized(), d.bareHosts(), d.missingKeys(), d.refused())
	if d.plan.Required != 0 || d.plan.Err != nil {
		return Keep
	}
	d.show(u.App, problems)
	d.refresh(u.App)
	return intent
}

// named decides about the work of the objects in an Application's annotation, and returns the problems of the
// objects.
func (d *decision) named(app *argocd.Application) (Intent, []problem) {
	refs, err := References(app.Annotations[apis.AnnotationWith])
	switch {
	case err != nil:
		return Keep, []problem{withInvalid("%s", err)}
	case len(refs) == 0:
		return End, nil
	case !d.Objects:
		return End, []problem{withInvalid(
			"this hub sends no objects: run Towline with --propagate=app-projects,namespaces,objects and the right to read them")}
	case slices.ContainsFunc(refs, func(ref Reference) bool { return d.to(ref).Namespace == "" }):
		return Keep, []problem{withInvalid(
			"the objects are sent to the destination's namespace, but the Application names none: set spec.destination.namespace")}
	case clash(refs, d.spec().Namespace) != nil:
		both := clash(refs, d.spec().Namespace)
		return Keep, []problem{withInvalid("%s and %s would both be %s on the cluster: give one object a different name on the cluster, for "+
			"example with %s=NAME",
			both[0], both[1], d.to(both[0]), both[1])}
	case d.Cluster.Hub && slices.ContainsFunc(refs, func(ref Reference) bool { return d.to(ref).Namespace == app.Namespace }):
		return End, []problem{withInvalid(
			"cluster %s is the hub itself, and the objects are already in namespace %s, where they would overwrite "+
				"themselves: remove the annotation, or set spec.destination.namespace to another namespace", d.Cluster.Name, app.Namespace)}
	case d.bypasses():
		return Keep, []problem{d.bypass()} // the cluster keeps its objects, without updates
	case d.Project == nil, d.require(FactObjects):
		return Keep, nil // an Application without a project is not sent, and its delivered objects stay
	}
	set, problems := d.collect(app, refs)
	if len(set) == 0 {
		return End, problems
	}
	d.carry(RenderObjects(work.Key(app), set))
	if d.tooLarge != nil {
		problems = append(problems, withInvalid("%s", d.tooLarge))
	}
	if d.desired != nil && !d.ExecutorInvalid {
		work.ExecuteAs(d.desired, d.Executor)
	}
	return Carry, problems
}

// Wanted returns the references to the named and permitted objects of the Application. The caller reads the objects
// past the cache.
func (f *Facts) Wanted() []Reference {
	refs, err := References(f.Users[0].App.Annotations[apis.AnnotationWith])
	if err != nil || f.Project == nil {
		return nil
	}
	var out []Reference
	for _, ref := range refs {
		if KindPermitted(f.Project, ref.Kind) && !slices.Contains(out, ref.source()) {
			out = append(out, ref.source())
		}
	}
	return out
}

// collect returns the objects of an Application's annotation, without kept or forbidden objects. An object missing on
// the hub stays as in the present work: no user has asked for the removal, and the workload uses the object.
func (d *decision) collect(app *argocd.Application, refs []Reference) (set []Placed, problems []problem) {
	for _, ref := range refs {
		obj, to := d.Named[ref.source()], d.to(ref)
		switch {
		case d.judgesNamespace(to.Namespace) && !authorization.Permits(d.Project, d.target(), to.Namespace):
			problems = append(problems, problemf(apis.ReasonDependencyForbidden,
				"%s: AppProject %s does not permit namespace %s of cluster %s, the destination of the object: permit the namespace in spec.destinations "+
					"of the AppProject, or name a different namespace in the annotation "+
					"%s", ref, d.spec().Project, to.Namespace, d.Cluster.Name, apis.AnnotationWith))
		case !KindPermitted(d.Project, ref.Kind):
			problems = append(problems, problemf(apis.ReasonDependencyForbidden,
				"%s: AppProject %s does not permit objects of kind %s: permit the kind in spec.namespaceResourceWhitelist or "+
					"spec.namespaceResourceBlacklist of the AppProject", ref, d.spec().Project, ref.Kind))
		case obj == nil:
			problems = append(problems, problemf(apis.ReasonDependencyMissing,
				"the hub has no %s in namespace %s: create the object, or remove the object from the annotation %s", ref, app.Namespace, apis.AnnotationWith))
			if d.Work == nil {
				continue
			}
			if there := kept(d.Work, ref, to, app.Namespace); there != nil {
				set = append(set, Placed{there, to})
			}
		case !propagates(obj.GetAnnotations()):
			problems = append(problems, about(obj, problemf(apis.ReasonDependencyMissing,
				"%s in namespace %s may not be sent to clusters: the owner can permit the delivery with the annotation %s: \"true\"",
				ref, app.Namespace, apis.AnnotationPropagate)))
		default:
			set = append(set, Placed{obj, to})
		}
	}
	return set, problems
}

// judgesNamespace reports whether the project must permit the namespace of an object. The permission of the
// Application covers its own namespace already, unless the Application deploys to a cluster behind the objects'
// cluster.
func (d *decision) judgesNamespace(namespace string) bool {
	return namespace != d.spec().Namespace || d.spec().Elsewhere != argocd.Destination{}
}

// to returns the namespace and name of an object on the cluster.
func (d *decision) to(ref Reference) types.NamespacedName { return ref.Target(d.spec().Namespace) }
