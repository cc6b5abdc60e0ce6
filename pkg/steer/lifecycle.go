package steer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/why"
)

func planPause(f *Facts, r Request) (*Change, *Refusal) {
	if f.App.Annotations[apis.AnnotationPaused] != "" && argocd.Paused(f.App.Annotations) {
		return nothing("already paused")
	}
	return annotate(f, r, apis.AnnotationPaused, "true", "paused: Towline writes nothing for the cluster until the resume",
		"condition PausedWarning")
}

func planResume(f *Facts, r Request) (*Change, *Refusal) {
	if _, set := f.App.Annotations[apis.AnnotationPaused]; set {
		return annotate(f, r, apis.AnnotationPaused, "", "resumed", "condition PausedWarning to go")
	}
	if paused := condition(f.App, apis.ConditionPausedWarning); paused != "" {
		return refuse(why.ResumeCommand(f.App.Namespace, f.App.Name, paused), "Application %s/%s is not paused by itself: %s",
			f.App.Namespace, f.App.Name, paused)
	}
	return nothing("not paused")
}

func planRelease(f *Facts, r Request) (*Change, *Refusal) {
	_, set := f.App.Annotations[apis.AnnotationRelease]
	switch {
	case r.Undo && !set:
		return nothing("no release is requested")
	case r.Undo:
		return annotate(f, r, apis.AnnotationRelease, "", "release withdrawn: Towline manages the Application again", "its ManifestWork")
	case f.App.ToBeReleased():
		return nothing("the release was requested already")
	}
	c, refusal := annotate(f, r, apis.AnnotationRelease, "true", "release requested", "its ManifestWork to go")
	if c != nil {
		c.Confirm = fmt.Sprintf("Application %s/%s and its workload stay on %s, and Towline stops managing both",
			f.App.Namespace, f.App.Name, clusterOf(f.App))
	}
	return c, refusal
}

// planAdopt decides how to treat an Application that already exists on the cluster.
func planAdopt(f *Facts, r Request) (*Change, *Refusal) {
	policy := cmp.Or(r.Policy, apis.AdoptAlways)
	switch {
	case !slices.Contains([]string{apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways}, policy):
		return refuse("", "--policy: %q is not one of %s, %s, %s", policy, apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways)
	case f.AdoptNever && policy != apis.AdoptNever:
		return refuse("", "Towline runs with --adopt=never, which no Application lifts: rename Application %s/%s or the one on %s, or have an "+
			"administrator of the hub change the flag", f.App.Namespace, f.App.Name, clusterOf(f.App))
	case f.App.Annotations[apis.AnnotationAdopt] == policy:
		return nothing("annotation %s is %s already", apis.AnnotationAdopt, policy)
	}
	c, refusal := annotate(f, r, apis.AnnotationAdopt, policy, fmt.Sprintf("policy for an existing Application on %s: %s", clusterOf(f.App),
		policy),
		"condition PropagationError to go")
	if c != nil && policy == apis.AdoptAlways {
		c.Confirm = fmt.Sprintf("Application %s on %s is overwritten with the hub's Application, whoever created it", f.App.Name, clusterOf(f.App))
	}
	return c, refusal
}

func planMove(f *Facts, r Request) (*Change, *Refusal) {
	app := f.App
	switch {
	case r.To == "":
		return refuse("", "--to: name the cluster to move to")
	case app.Cluster() == r.To:
		return nothing("the Application names %s already", r.To)
	case f.NoCluster:
		return refuse("kubectl get managedclusters", "ManagedCluster %q does not exist: Application %s/%s cannot move there", r.To, app.Namespace, app.Name)
	case app.Placement() != "":
		return refuse(fmt.Sprintf("kubectl -n %s edit placement %s", app.Namespace, app.Placement()),
			"Application %s/%s follows Placement %s, which chooses its cluster", app.Namespace, app.Name, app.Placement())
	case !f.Set.keepsAnnotation(apis.AnnotationCluster, r.To):
		return nil, f.Set.refuseMove(f)
	}
	patch, from := argocd.Patch{Annotations: map[string]*string{apis.AnnotationCluster: &r.To}}, app.Cluster()
	if from == "" {
		return change(f, patch, "Towline sends the Application to "+r.To, "the ManifestWork on "+r.To), nil
	}
	c := change(f, patch, fmt.Sprintf("moving from %s to %s", from, r.To), "the ManifestWork on "+r.To+", and none on "+from)
	c.Confirm = fmt.Sprintf("Application %s/%s moves from %s to %s, and %s", app.Namespace, app.Name, from, r.To, leaves(app.Finalizers, from))
	c.MustConfirm = argocd.Destroys(app.Finalizers)
	return c, nil
}

func planDelete(f *Facts, r Request) (*Change, *Refusal) {
	app := f.App
	if f.Set != nil && !f.Set.Gone && app.DeletionTimestamp == nil {
		return nil, f.Set.refuseDelete(f)
	}
	finalizers := slices.Clone(app.Finalizers)
	switch {
	case r.Cascade == nil:
	case *r.Cascade && !argocd.Destroys(finalizers):
		finalizers = append(finalizers, apis.FinalizerResources)
	case !*r.Cascade:
		finalizers = slices.DeleteFunc(finalizers, argocd.IsCascadeFinalizer)
	}
	patch := argocd.Patch{}
	if !slices.Equal(finalizers, app.Finalizers) {
		if app.DeletionTimestamp != nil && len(finalizers) > len(app.Finalizers) {
			return refuse("", "Application %s/%s is being deleted and accepts no new finalizer, so --cascade=true comes too late", app.Namespace,
				app.Name)
		}
		patch.Finalizers = &finalizers
	}
	if r.Force && !app.ToBeForced() {
		yes := "true"
		patch.Annotations = map[string]*string{apis.AnnotationForceDelete: &yes}
	}
	c := change(f, patch, "deletion requested", "the Application to be gone")
	if patch.Finalizers == nil && patch.Annotations == nil {
		c.Patch = nil
	}
	c.Delete = app.DeletionTimestamp == nil
	if !c.Delete && c.Patch == nil {
		c.Message = "already being deleted"
		return c, nil
	}
	c.Confirm = fmt.Sprintf("Application %s/%s is deleted, and %s", app.Namespace, app.Name, fate(app, finalizers))
	if c.MustConfirm = true; r.Force {
		c.Confirm += ". Towline does not wait for the cluster: the Application and the workload may remain there"
	}
	return c, nil
}

// fate describes the effect of a deletion on the deployed resources.
func fate(app *argocd.Application, finalizers []string) string {
	on := clusterOf(app)
	if app.ToBeReleased() {
		return "everything stays on " + on + ", because Towline is releasing the Application"
	}
	return leaves(finalizers, on)
}

// leaves describes the effect on the deployed resources when an Application with these finalizers leaves the cluster.
func leaves(finalizers []string, cluster string) string {
	if argocd.Destroys(finalizers) {
		return "the whole workload on " + cluster + " is deleted"
	}
	return "the workload stays on " + cluster
}

// PauseOther returns the change that pauses or resumes an ApplicationSet, or the namespace of a cluster. annotations
// are the current annotations of this object. The change applies only to the given UID and resourceVersion.
func PauseOther(annotations map[string]string, uid, resourceVersion string, pause bool) *Change {
	value, set := annotations[apis.AnnotationPaused]
	switch {
	case pause && value != "" && argocd.Paused(annotations):
		return &Change{Message: "already paused"}
	case !pause && !set:
		return &Change{Message: "not paused"}
	}
	var to any
	message := "resumed"
	if pause {
		to, message = "true", "paused: Towline writes nothing for the clusters of the Applications until the resume"
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "resourceVersion": resourceVersion, "annotations": map[string]any{apis.AnnotationPaused: to},
	}})
	if err != nil {
		return &Change{Message: err.Error()} // strings always encode
	}
	return &Change{Patch: data, Message: message}
}
