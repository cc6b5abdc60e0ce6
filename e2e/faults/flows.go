package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
)

// A Flow is a sequence of users' actions on an Application. Its steps wait for the same results as users. The final
// state must equal the final state of the flow without a fault.
type Flow struct {
	Name  string
	Steps []Step

	// Vanishes is set if the Application leaves the hub before its cluster has removed it. Towline treats more than a
	// few such Applications as lost if they vanish while Towline is down.
	Vanishes bool

	// Slow is set if Towline waits for a minute. Each start of Towline restarts the wait.
	Slow bool

	// Own is set if the point has its own cluster.
	Own bool

	// Agent is set if Towline's agent runs, and the faults concern the agent's writes.
	Agent bool
}

const (
	first, second = "cluster1", "cluster2"

	// elsewhere is a second namespace for Applications on a cluster.
	elsewhere = "elsewhere"
)

// Patches of the hub's Application.
const (
	noFinalizers = `{"metadata":{"finalizers":null}}`
	changed      = `{"spec":{"revisionHistoryLimit":3}}`
	changedTwice = `{"spec":{"revisionHistoryLimit":4}}`
	operation    = `{"operation":{"sync":{"syncOptions":["CreateNamespace=true"]},"initiatedBy":{"username":"tester"}}}`
	endless      = `{"operation":{"sync":{"revision":"` + hangs + `"},"initiatedBy":{"username":"tester"}}}`
	withdrawn    = `{"operation":null}`
	terminated   = `{"status":{"operationState":{"phase":"Terminating"}}}`
	unlabelled   = `{"metadata":{"labels":{"` + apis.LabelPull + `":null}}}`
	labelled     = `{"metadata":{"labels":{"` + apis.LabelPull + `":"true"}}}`
)

var (
	toSecond = annotation(apis.AnnotationCluster, second)
	oldFirst = annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)
	away     = annotation(apis.AnnotationAppNamespace, elsewhere)
	released = annotation(apis.AnnotationRelease, "true")
	taken    = annotation(apis.AnnotationRelease, "")
)

// Waits for several flows.
var (
	delivered = steps(create(), shows(first), remember(first))
	over      = onHub("gone", gone)
	ended     = onHub("showing an operation that is over", func(app *unstructured.Unstructured) bool {
		return app != nil && app.Object["operation"] == nil && text(app, "status", "operationState", "finishedAt") != ""
	})
	running = onHub("showing an operation that runs", func(app *unstructured.Unstructured) bool {
		return app != nil && app.Object["operation"] == nil && text(app, "status", "operationState", "phase") == "Running"
	})
	let = onCluster(first, "let go", func(app *unstructured.Unstructured) bool {
		return app != nil && len(app.GetFinalizers()) == 0 && len(app.GetOwnerReferences()) == 0
	})
	refreshed = onHub("refreshed", func(app *unstructured.Unstructured) bool {
		_, asked := app.GetAnnotations()[apis.AnnotationRefresh]
		return !asked
	})
)

// Flows returns the flows of docs/lifecycle.md.
func Flows() []Flow {
	return slices.Concat(
		changes(), moves(), releases(), adoptions(), rules(), deletions(), dependencies(),
		onOwnClusters(slices.Concat(found(), tokens(), clusters(), restored())), reportings(),
	)
}

func onOwnClusters(flows []Flow) []Flow {
	for i := range flows {
		flows[i].Own = true
	}
	return flows
}

func changes() []Flow {
	return []Flow{
		{Name: "create", Steps: []Step{create(), shows(first)}},
		{Name: "create-plain", Steps: []Step{create(noFinalizers), shows(first)}},
		{Name: "change", Steps: []Step{delivered, patch(changed), shows(first)}},
		{Name: "change-twice", Steps: []Step{delivered, patch(changed), patch(changedTwice), shows(first)}},
		{Name: "change-at-once", Steps: []Step{create(), patch(changed), shows(first)}},
		{Name: "refresh", Steps: []Step{delivered, annotate(apis.AnnotationRefresh, "normal"), refreshed}},
		{Name: "refresh-change", Steps: []Step{delivered, annotate(apis.AnnotationRefresh, "hard"), patch(changed), refreshed, shows(first)}},
		{Name: "operation", Steps: []Step{delivered, patch(operation), ended}},
		{Name: "operation-change", Steps: []Step{delivered, patch(operation), patch(changed), ended, shows(first)}},
		{Name: "operations", Steps: []Step{delivered, patch(operation), ended, patch(endless), running, patch(terminated), ended}},
		{Name: "terminate", Steps: []Step{delivered, patch(endless), running, patch(terminated), ended}},
		{Name: "terminate-delete", Steps: []Step{
			delivered, patch(endless), running, remove(), condition(apis.ConditionDeletionWarning), patch(terminated), over,
		}},
		{Name: "pause", Steps: []Step{
			delivered, annotate(apis.AnnotationPaused, "true"), condition(apis.ConditionPausedWarning), patch(changed),
			annotate(apis.AnnotationPaused, ""), shows(first), noCondition(apis.ConditionPausedWarning),
		}},
		{Name: "pause-delete", Steps: []Step{
			delivered, annotate(apis.AnnotationPaused, "true"), condition(apis.ConditionPausedWarning), remove(),
			annotate(apis.AnnotationPaused, ""), over,
		}},
		{Name: "unknown-cluster", Steps: []Step{
			delivered, annotate(apis.AnnotationCluster, "nowhere"), condition(apis.ConditionPropagationError),
			annotate(apis.AnnotationCluster, first), noCondition(apis.ConditionPropagationError), shows(first),
		}},
		{Name: "set", Steps: []Step{createSet(), showsSet(2), removeSet(), noSet()}},
	}
}

func moves() []Flow {
	moved := steps(shows(second), onCluster(first, "gone", gone), noWork(first), noCondition(apis.ConditionMoveWarning))
	return []Flow{
		{Name: "move", Steps: []Step{delivered, patch(toSecond), moved}},
		{Name: "move-old-first", Steps: []Step{create(oldFirst), shows(first), remember(first), patch(toSecond), moved}},
		{Name: "move-plain", Steps: []Step{create(noFinalizers), shows(first), remember(first), patch(toSecond), moved}},
		{Name: "move-back", Steps: []Step{
			delivered, patch(toSecond), moved, remember(second), annotate(apis.AnnotationCluster, first), shows(first), noWork(second),
		}},
		{Name: "move-taken-back", Steps: []Step{
			delivered, patch(toSecond), annotate(apis.AnnotationCluster, first), shows(first), noWork(second), noCondition(apis.ConditionMoveWarning),
		}},
		{Name: "move-change", Steps: []Step{delivered, patch(toSecond), patch(changed), moved}},
		{Name: "namespace", Steps: []Step{
			delivered, patch(away), showsIn(first, elsewhere), onCluster(first, "gone", gone), noCondition(apis.ConditionMoveWarning),
		}},
		{Name: "namespace-and-back", Steps: []Step{
			delivered, patch(away), showsIn(first, elsewhere), onCluster(first, "gone", gone),
			annotate(apis.AnnotationAppNamespace, ""), shows(first), in(first, elsewhere, "gone", gone), noCondition(apis.ConditionMoveWarning),
		}},
	}
}

func releases() []Flow {
	letGo := steps(noWork(first), let)
	return []Flow{
		{Name: "release", Steps: []Step{delivered, patch(released), letGo}},
		{Name: "release-back", Steps: []Step{delivered, patch(released), letGo, patch(taken), shows(first), noCondition(apis.ConditionReleaseWarning)}},
		{Name: "release-taken-back", Steps: []Step{delivered, patch(released), patch(taken), shows(first), noCondition(apis.ConditionReleaseWarning)}},
		{Name: "release-delete", Steps: []Step{delivered, patch(released), remove(), over, letGo}},
		{Name: "release-later-delete", Steps: []Step{delivered, patch(released), letGo, remove(), over}},
		{Name: "label", Steps: []Step{delivered, patch(unlabelled), letGo, patch(labelled), shows(first), noCondition(apis.ConditionReleaseWarning)}},
		{Name: "label-delete", Steps: []Step{delivered, patch(unlabelled), letGo, remove(), over}},
		{Name: "skip", Steps: []Step{
			delivered, annotate(apis.AnnotationSkipReconcile, ""), letGo, annotate(apis.AnnotationSkipReconcile, "true"), shows(first),
		}},
		{Name: "nowhere", Steps: []Step{delivered, annotate(apis.AnnotationCluster, ""), letGo, annotate(apis.AnnotationCluster, first), shows(first)}},
	}
}

func adoptions() []Flow {
	return []Flow{
		{Name: "adopt-matching", Steps: []Step{byHand(), remember(first), create(), shows(first)}},
		{Name: "adopt-refused", Steps: []Step{byHand(changed), remember(first), create(changedTwice), condition(apis.ConditionPropagationError)}},
		{Name: "adopt-always", Steps: []Step{
			byHand(changed), remember(first), create(annotation(apis.AnnotationAdopt, apis.AdoptAlways), changedTwice), shows(first),
		}},
		{Name: "adopt-never", Steps: []Step{
			byHand(), remember(first), create(annotation(apis.AnnotationAdopt, apis.AdoptNever)), condition(apis.ConditionPropagationError),
		}},
		{Name: "adopt-never-free", Steps: []Step{create(annotation(apis.AnnotationAdopt, apis.AdoptNever)), shows(first)}},
		{Name: "adopt-refused-delete", Steps: []Step{
			byHand(changed), remember(first), create(changedTwice), condition(apis.ConditionPropagationError), remove(), over,
		}},
	}
}

// rules are flows with AppProjects, on the second cluster. While any operation is on its way to a cluster, Towline
// removes no AppProject from this cluster.
func rules() []Flow {
	inProject := steps(createProject(), tries(func(ctx context.Context, a *actor) error {
		app, err := a.edited(a.application(), []string{toSecond})
		if err != nil {
			return err
		}
		app.Object["spec"] = spec(a.world.Fleet, a.id, a.id)
		return a.world.hub.Create(ctx, app)
	}), shows(second), arrives(second, projects, "POINT"), remember(second))
	nothing, everything := project(`{"spec":{"sourceRepos":[]}}`), project(`{"spec":{"sourceRepos":["*"]}}`)
	return []Flow{
		{Name: "project", Steps: []Step{inProject}},
		{Name: "project-change", Steps: []Step{inProject, project(`{"spec":{"description":"changed"}}`), projectSays(second, "changed")}},
		{Name: "project-delete", Steps: []Step{inProject, remove(), over, noWork(second)}},
		{Name: "revoke", Steps: []Step{
			inProject, nothing, condition(apis.ConditionPropagationForbiddenError), patch(changed),
			everything, noCondition(apis.ConditionPropagationForbiddenError), shows(second),
		}},
		{Name: "revoke-delete", Steps: []Step{
			inProject, nothing, condition(apis.ConditionPropagationForbiddenError), projectPermitsNothing(second), remove(), over,
		}},
	}
}

func deletions() []Flow {
	away := steps(onCluster(first, "gone", gone), noWork(first))
	return []Flow{
		{Name: "delete", Steps: []Step{delivered, remove(), over, away}},
		{Name: "delete-at-once", Steps: []Step{create(), remove(), over, away}},
		{Name: "delete-changed", Steps: []Step{delivered, patch(changed), remove(), over, away}},
		{Name: "delete-force", Steps: []Step{delivered, annotate(apis.AnnotationForceDelete, "true"), remove(), over, away}},
		{Name: "delete-plain", Steps: []Step{create(noFinalizers), shows(first), remember(first), remove(), away}, Vanishes: true},
		{Name: "delete-no-cascade", Steps: []Step{delivered, patch(noFinalizers), remove(), away}, Vanishes: true},
		{Name: "delete-operation", Steps: []Step{delivered, patch(operation), remove(), over, away}},
		{Name: "delete-move", Steps: []Step{delivered, patch(toSecond), remove(), over, away, onCluster(second, "gone", gone), noWork(second)}},
		{Name: "again", Steps: []Step{delivered, remove(), over, create(), shows(first)}},
		{Name: "again-plain", Steps: []Step{
			create(noFinalizers), shows(first), remember(first), remove(), create(noFinalizers), shows(first), oneWork(first),
		}, Vanishes: true},
		{Name: "again-elsewhere", Steps: []Step{
			create(noFinalizers), shows(first), remember(first), remove(), create(toSecond), shows(second), away,
		}, Vanishes: true},
		{Name: "withdraw", Steps: []Step{delivered, patch(endless), running, patch(operation), patch(withdrawn), patch(terminated), ended}},
	}
}

// byHand creates the point's Application directly on the first cluster, as users there would.
func byHand(edits ...string) Step {
	return steps(tries(func(ctx context.Context, a *actor) error {
		app := object(applications, fleet.ArgoCDNamespace, a.id)
		app.Object["spec"] = spec(a.world.Fleet, a.id, "default")
		app, err := a.edited(app, edits)
		if err != nil {
			return err
		}
		return a.world.clusters[first].Create(ctx, app)
	}), onCluster(first, "compared", func(app *unstructured.Unstructured) bool { return text(app, "status", "sync", "revision") != "" }))
}

// createProject creates the point's own AppProject.
func createProject() Step {
	return tries(func(ctx context.Context, a *actor) error {
		p := object(projects, fleet.ArgoCDNamespace, a.id)
		p.Object["spec"] = content{
			"sourceRepos": []any{"*"}, "destinations": []any{content{"server": "*", "namespace": "*"}},
		}
		return a.world.hub.Create(ctx, p)
	})
}

// project changes the point's AppProject.
func project(change string) Step {
	return tries(func(ctx context.Context, a *actor) error {
		return a.world.hub.patch(ctx, object(projects, fleet.ArgoCDNamespace, a.id), a.text(change))
	})
}

func projectSays(cluster, description string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		p, err := a.plane(cluster).find(ctx, projects, fleet.ArgoCDNamespace, a.id)
		if err == nil && text(p, "spec", "description") != description {
			return fmt.Errorf("the AppProject of %s does not say %q", cluster, description)
		}
		return err
	})
}

// projectPermitsNothing waits until the cluster's AppProject permits nothing. The AppProject stays unchanged on the
// cluster after its last Application.
func projectPermitsNothing(cluster string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		p, err := a.plane(cluster).find(ctx, projects, fleet.ArgoCDNamespace, a.id)
		if err != nil {
			return err
		}
		if p != nil {
			if permitted, _, _ := unstructured.NestedSlice(p.Object, "spec", "sourceRepos"); len(permitted) == 0 {
				return nil
			}
		}
		return fmt.Errorf("the AppProject of %s permits something still", cluster)
	})
}

// oneWork waits until the point has exactly one work on the hub.
func oneWork(cluster string) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		all, err := a.world.hub.of(ctx, works, a.id)
		if err == nil && len(all) != 1 {
			return fmt.Errorf("there are %d works of %s", len(all), cluster)
		}
		return err
	})
}

// createSet creates an ApplicationSet with an Application for each cluster.
func createSet() Step {
	return tries(func(ctx context.Context, a *actor) error {
		set := object(sets, fleet.ArgoCDNamespace, a.id)
		set.Object["spec"] = content{
			"generators": []any{content{"list": content{"elements": []any{content{"name": first}, content{"name": second}}}}},
			"template": content{
				"metadata": content{
					"name":   a.id + "-{{name}}",
					"labels": content{apis.LabelPull: "true"},
					"annotations": content{
						apis.AnnotationCluster: "{{name}}", apis.AnnotationSkipReconcile: "true",
					},
				},
				"spec": spec(a.world.Fleet, a.id, "default"),
			},
		}
		return a.world.hub.Create(ctx, set)
	})
}

// showsSet waits until the report of the point's ApplicationSet counts the number of healthy Applications.
func showsSet(healthy int) Step {
	return eventually(func(ctx context.Context, a *actor) error {
		report, err := a.world.hub.find(ctx, reports, fleet.ArgoCDNamespace, a.id)
		if err != nil {
			return err
		}
		if got := text(report, "statuses", "summary", "healthy"); got != fmt.Sprint(healthy) {
			return fmt.Errorf("the report counts %q Applications that are healthy", got)
		}
		return nil
	})
}

func removeSet() Step {
	return tries(func(ctx context.Context, a *actor) error {
		return a.world.hub.Delete(ctx, object(sets, fleet.ArgoCDNamespace, a.id))
	})
}

// noSet waits until the hub has no object of the point.
func noSet() Step {
	return eventually(func(ctx context.Context, a *actor) error {
		var left []string
		for _, kind := range a.world.hub.kinds {
			all, err := a.world.hub.of(ctx, kind, a.id)
			if err != nil {
				return err
			}
			for i := range all {
				left = append(left, all[i].GetKind()+" "+all[i].GetName())
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("the hub has %s", strings.Join(left, ", "))
		}
		return nil
	})
}
