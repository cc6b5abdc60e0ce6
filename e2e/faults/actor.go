package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
)

// An actor performs the steps of a point. The names of its objects begin with its id.
type actor struct {
	world *World
	id    string

	// remembered are the UIDs of objects on the clusters that must stay.
	remembered map[string]types.UID

	// backup are the point's objects on the hub at the time of the backup.
	backup []unstructured.Unstructured

	// agent is the work agent of the point's own cluster, after its first start.
	agent *fleet.Process

	// reporter is Towline's agent of the point, after its first start. gate starts the reporter, and script holds the
	// faults for its writes.
	reporter *reporter
	gate     *Gate
	script   *script
}

// A Step is an action of a user, or a wait.
type Step func(context.Context, *actor) error

// look is the interval between two checks of a waiting step. The checks read a cache.
const look = 100 * time.Millisecond

// eventually returns a step that repeats try until try succeeds.
func eventually(try Step) Step {
	return func(ctx context.Context, a *actor) error {
		var last error
		err := wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
			last = try(ctx, a)
			return last == nil, nil
		})
		if err != nil && last != nil {
			return last
		}
		return err
	}
}

// tries returns a step that repeats do after a conflict, or while the API server is overloaded.
func tries(do Step) Step {
	return func(ctx context.Context, a *actor) error {
		var last error
		err := wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
			last = do(ctx, a)
			if apierrors.IsConflict(last) || apierrors.IsTooManyRequests(last) || apierrors.IsServerTimeout(last) {
				return false, nil
			}
			return true, last
		})
		return errors.Join(err, last)
	}
}

// steps combines several steps into one.
func steps(all ...Step) Step {
	return func(ctx context.Context, a *actor) error {
		for _, s := range all {
			if err := s(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}
}

type content = map[string]any

// spec returns the spec of a point's Application.
func spec(f *fleet.Fleet, id, project string) content {
	return content{
		"project":     project,
		"source":      content{"repoURL": f.Git.URL(fleet.AppsRepo), "path": "guestbook", "targetRevision": "main"},
		"destination": content{"server": apis.InClusterServer, "namespace": id},
		"syncPolicy": content{
			"automated": content{"prune": true, "selfHeal": true}, "syncOptions": []any{"CreateNamespace=true"},
		},
	}
}

// application returns a point's Application for cluster1, before any edits.
func (a *actor) application() *unstructured.Unstructured {
	app := object(applications, fleet.ArgoCDNamespace, a.id)
	app.SetLabels(map[string]string{apis.LabelPull: "true"})
	app.SetAnnotations(map[string]string{apis.AnnotationCluster: "cluster1", apis.AnnotationSkipReconcile: "true"})
	app.SetFinalizers([]string{apis.FinalizerResources})
	app.Object["spec"] = spec(a.world.Fleet, a.id, "default")
	return app
}

// create creates the point's Application on the hub, edited by merge patches.
func create(edits ...string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		app, err := a.edited(a.application(), edits)
		if err != nil {
			return err
		}
		return a.world.hub.Create(ctx, app)
	})
}

// edited applies merge patches to an object. POINT in a patch is the point's id.
func (a *actor) edited(o *unstructured.Unstructured, edits []string) (*unstructured.Unstructured, error) {
	for _, edit := range edits {
		var patch content
		if err := json.Unmarshal([]byte(a.text(edit)), &patch); err != nil {
			return nil, fmt.Errorf("%s: %w", edit, err)
		}
		merge(o.Object, patch)
	}
	return o, nil
}

func merge(into, patch content) {
	for key, value := range patch {
		below, is := value.(content)
		there, was := into[key].(content)
		switch {
		case value == nil:
			delete(into, key)
		case is && was:
			merge(there, below)
		default:
			into[key] = value
		}
	}
}

// text replaces POINT by the point's id, and REPOSITORY by the address of an existing repository.
func (a *actor) text(of string) string {
	return strings.NewReplacer("POINT", a.id, "REPOSITORY", a.world.Fleet.Git.URL(fleet.AppsRepo)).Replace(of)
}

// patch changes the point's Application on the hub. POINT is the point's id.
func patch(change string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		return a.world.hub.patch(ctx, a.application(), a.text(change))
	})
}

// annotate sets an annotation of the point's Application. An empty value removes the annotation.
func annotate(key, value string) Step { return patch(annotation(key, value)) }

func annotation(key, value string) string {
	if value == "" {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, key)
	}
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
}

// remove deletes the point's Application from the hub.
func remove() Step {
	return tries(func(ctx context.Context, a *actor) error { return a.world.hub.Delete(ctx, a.application()) })
}

// onHub waits until holds is true for the point's Application on the hub.
func onHub(says string, holds func(*unstructured.Unstructured) bool) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		app, err := a.world.hub.find(ctx, applications, fleet.ArgoCDNamespace, a.id)
		if err != nil {
			return err
		}
		if !holds(app) {
			return fmt.Errorf("the hub's Application is not %s", says)
		}
		return nil
	})
}

// onCluster waits until holds is true for the point's Application on a cluster.
func onCluster(cluster, says string, holds func(*unstructured.Unstructured) bool) Step {
	return in(cluster, fleet.ArgoCDNamespace, says, holds)
}

func in(cluster, namespace, says string, holds func(*unstructured.Unstructured) bool) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		app, err := a.plane(cluster).find(ctx, applications, a.text(namespace), a.id)
		if err != nil {
			return err
		}
		if !holds(app) {
			return fmt.Errorf("the Application of %s in %s is not %s", cluster, namespace, says)
		}
		return nil
	})
}

func gone(app *unstructured.Unstructured) bool { return app == nil }

// text returns a string field of an object, or an empty string without the field.
func text(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// shows waits until the hub shows the cluster's result for the present spec on the hub.
func shows(cluster string) Step { return showsIn(cluster, fleet.ArgoCDNamespace) }

func showsIn(cluster, namespace string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		app, err := a.world.hub.find(ctx, applications, fleet.ArgoCDNamespace, a.id)
		if err != nil {
			return err
		}
		at, err := a.plane(cluster).find(ctx, applications, a.text(namespace), a.id)
		switch {
		case err != nil:
			return err
		case app == nil || at == nil:
			return fmt.Errorf("the Application is not on the hub and %s", cluster)
		case text(app, "status", "sync", "revision") != a.world.compared(a.plane(cluster), at) || text(app, "status", "health", "status") != "Healthy":
			return fmt.Errorf("the hub does not show what %s has", cluster)
		}
		return sameSpec(app, at)
	})
}

func sameSpec(hub, cluster *unstructured.Unstructured) error {
	for _, path := range [][]string{{"spec", "source", "path"}, {"spec", "project"}} {
		if text(hub, path...) != text(cluster, path...) {
			return fmt.Errorf("the cluster's Application has another %v", path)
		}
	}
	one, _, _ := unstructured.NestedFieldNoCopy(hub.Object, "spec", "revisionHistoryLimit")
	other, _, _ := unstructured.NestedFieldNoCopy(cluster.Object, "spec", "revisionHistoryLimit")
	if one != other {
		return fmt.Errorf("the change has not arrived")
	}
	return nil
}

// condition waits until the hub's Application has a condition.
func condition(kind string) Step {
	return onHub("telling of "+kind, func(app *unstructured.Unstructured) bool { return has(app, kind) })
}

// noCondition waits until the hub's Application does not have a condition.
func noCondition(kind string) Step {
	return onHub("without "+kind, func(app *unstructured.Unstructured) bool { return app != nil && !has(app, kind) })
}

func has(app *unstructured.Unstructured, kind string) bool { return conditionOf(app, kind) != nil }

// conditionOf returns the condition of the type, or nil if the object has none.
func conditionOf(o *unstructured.Unstructured, kind string) content {
	if o == nil {
		return nil
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(content); c["type"] == kind {
			return c
		}
	}
	return nil
}

// reasonOf returns the reason of the condition of the type, or an empty string without the condition.
func reasonOf(o *unstructured.Unstructured, kind string) string {
	reason, _ := conditionOf(o, kind)["reason"].(string)
	return reason
}

// noWork waits until the cluster's namespace on the hub has no work of the point.
func noWork(cluster string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		all, err := a.world.hub.of(ctx, works, a.id)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].GetNamespace() == a.called(cluster) && all[i].GetLabels()[apis.LabelPull] != "" {
				return fmt.Errorf("the work %s of %s is there", all[i].GetName(), all[i].GetNamespace())
			}
		}
		return nil
	})
}

// remember records the UIDs of the point's objects on a cluster. The final state tells whether they are the same
// objects.
func remember(cluster string) Step {
	return func(ctx context.Context, a *actor) error {
		p := a.plane(cluster)
		for _, kind := range []schema.GroupVersionKind{applications, a.world.workload(p)} {
			objects, err := p.of(ctx, kind, a.id)
			if err != nil {
				return err
			}
			if len(objects) == 0 {
				return fmt.Errorf("there is no %s of it on %s to remember", kind.Kind, cluster)
			}
			for i := range objects {
				a.remembered[place(p, &objects[i])] = objects[i].GetUID()
			}
		}
		return nil
	}
}

func place(p *plane, o *unstructured.Unstructured) string {
	return p.name + " " + o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}
