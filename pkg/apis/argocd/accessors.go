package argocd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/towline-io/towline/pkg/apis"
)

// Pulled returns whether the pull label of the Application has a value for true.
func (a *Application) Pulled() bool {
	return isTrue(a.Labels[apis.LabelPull])
}

// ReconcileSkipped returns whether the hub's own Argo CD skips the Application. Argo CD 2.14 parses the annotation with
// strconv.ParseBool, and treats other values as false. ReconcileSkipped does the same.
func (a *Application) ReconcileSkipped() bool {
	return isTrue(a.Annotations[apis.AnnotationSkipReconcile])
}

// ToBeReleased returns whether the Application has the annotation release.
func (a *Application) ToBeReleased() bool { return isTrue(a.Annotations[apis.AnnotationRelease]) }

// ToBeForced returns whether the deletion of the Application does not wait for its cluster.
func (a *Application) ToBeForced() bool { return isTrue(a.Annotations[apis.AnnotationForceDelete]) }

// DeletedOnOutage returns whether an outage of the cluster may lead to the deletion of the Application on the cluster.
func (a *Application) DeletedOnOutage() bool {
	return isTrue(a.Annotations[apis.AnnotationDeleteOnOutage])
}

// Paused returns whether the annotations of an object pause the Applications of the object. A value other than true and
// false counts as true: the person who set the value wanted a stop.
func Paused(annotations map[string]string) bool {
	return isTrue(annotations[apis.AnnotationPaused]) || Unreadable(annotations, apis.AnnotationPaused)
}

// PausedBy returns object if the annotations pause the object's Applications, and an empty string otherwise. For a
// value other than true and false, PausedBy adds a remark.
func PausedBy(object string, annotations map[string]string) string {
	switch {
	case !Paused(annotations):
		return ""
	case Unreadable(annotations, apis.AnnotationPaused):
		return fmt.Sprintf("%s, whose value %.80q is neither true nor false and counts as true", object, annotations[apis.AnnotationPaused])
	}
	return object
}

// Unreadable returns whether a boolean annotation is neither true nor false. An empty value counts as not set.
func Unreadable(annotations map[string]string, key string) bool {
	value := annotations[key]
	if value == "" {
		return false // most values are empty, and an error costs time
	}
	_, err := strconv.ParseBool(value)
	return err != nil
}

// Cluster returns the name of the requested ManagedCluster; empty for none.
func (a *Application) Cluster() string {
	return a.Annotations[apis.AnnotationCluster]
}

// Placement returns the name of the Placement, in the Application's own namespace, that chooses the cluster; empty for
// none.
func (a *Application) Placement() string {
	return a.Annotations[apis.AnnotationPlacement]
}

// ClusterNamespace returns the namespace of the Application on its cluster.
func (a *Application) ClusterNamespace() string {
	if ns := a.Annotations[apis.AnnotationAppNamespace]; ns != "" {
		return ns
	}
	if a.Home != "" {
		return a.Home
	}
	return a.Namespace
}

// Refresh returns the kind of the requested refresh: normal, hard, or apis.RefreshSpecChanged; empty for none. Argo CD
// treats every value of the annotation except "hard" as normal, including an empty value.
func (a *Application) Refresh() string {
	kind, asked := a.Annotations[apis.AnnotationRefresh]
	switch {
	case !asked:
		return ""
	case kind != "hard" && kind != apis.RefreshSpecChanged:
		return "normal"
	}
	return kind
}

// SpecChanged returns whether the deployed content has changed on the hub without a later comparison by the cluster.
func (a *Application) SpecChanged() bool { return a.Refresh() == apis.RefreshSpecChanged }

// Project returns the name of the Application's AppProject. The result is Argo CD's default project if the spec names
// no project or is unreadable.
func (a *Application) Project() string {
	var spec struct {
		Project string `json:"project"`
	}
	if err := utiljson.Unmarshal(a.Spec.Raw, &spec); err != nil || spec.Project == "" {
		return DefaultProject
	}
	return spec.Project
}

// Destination returns the cluster in the spec: a name, an address, or both, although Argo CD refuses both. Both results
// are empty for an unreadable spec.
func (a *Application) Destination() (name, server string) {
	var spec struct {
		Destination struct {
			Name   string `json:"name"`
			Server string `json:"server"`
		} `json:"destination"`
	}
	if utiljson.Unmarshal(a.Spec.Raw, &spec) != nil {
		return "", ""
	}
	return spec.Destination.Name, withoutSlash(spec.Destination.Server)
}

// withoutSlash returns an address without slashes at the end. Argo CD compares addresses in this form.
func withoutSlash(server string) string { return strings.TrimRight(server, "/") }

// ApplicationSet returns the name of the ApplicationSet, in the same namespace, that controls the Application. The bool
// is false if there is none.
func (a *Application) ApplicationSet() (string, bool) {
	owner := metav1.GetControllerOf(a)
	if owner == nil || owner.Kind != "ApplicationSet" || !strings.HasPrefix(owner.APIVersion, GroupVersion.Group+"/") {
		return "", false
	}
	return owner.Name, true
}

// Cascades returns whether a finalizer of Argo CD keeps the Application until the removal on the cluster has ended.
func (a *Application) Cascades() bool {
	return slices.ContainsFunc(a.Finalizers, IsCascadeFinalizer)
}

// IsCascadeFinalizer returns whether a finalizer of Argo CD waits for the managed cluster: the resources finalizer, the
// pre-delete and the post-delete finalizer, in all forms. Argo CD 2.14 to 3.5 removes no further finalizers during the
// deletion of an Application. Argo CD removes the hook finalizer at the end of a sync.
func IsCascadeFinalizer(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == apis.FinalizerPreDelete || finalizerTravels(f)
}

// finalizerTravels returns whether the Application on the cluster gets a finalizer of the hub's Application. A
// pre-delete finalizer does not travel. An Argo CD before 3.3 never removes the pre-delete finalizer. A newer Argo CD
// on the cluster sets the finalizer itself with each comparison, if the Application has pre-delete hooks.
func finalizerTravels(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == apis.FinalizerResources || base == apis.FinalizerPostDelete
}

// FinalizersThere returns the finalizers of the Application on its cluster.
func (a *Application) FinalizersThere() []string {
	return slices.DeleteFunc(slices.Clone(a.Finalizers), func(f string) bool { return !finalizerTravels(f) })
}

// DestructiveFinalizers are the finalizers with which Argo CD (2 and 3) deletes the deployed resources before the
// Application.
var DestructiveFinalizers = []string{
	apis.FinalizerResources, apis.FinalizerResources + "/background", apis.FinalizerResources + "/foreground",
}

// Destroys returns whether one of the finalizers deletes the deployed resources.
func Destroys(finalizers []string) bool {
	return slices.ContainsFunc(finalizers, func(f string) bool { return slices.Contains(DestructiveFinalizers, f) })
}

func isTrue(s string) bool {
	if s == "" {
		return false
	}
	ok, err := strconv.ParseBool(s)
	return err == nil && ok
}

// Empty returns whether the known fields of the status are empty.
func (s *Status) Empty() bool {
	return s.Health == (Health{}) && s.Sync == nil && s.OperationState == nil && s.ReconciledAt == "" &&
		len(s.Conditions) == 0 && len(s.Resources) == 0 && s.Summary == nil && len(s.History) == 0
}

// Hydrates returns whether a spec uses Argo CD's source hydrator; false for an unreadable spec.
func Hydrates(spec []byte) bool {
	if !bytes.Contains(spec, []byte(`"sourceHydrator"`)) {
		return false // nearly all specs end here
	}
	var s struct {
		SourceHydrator *struct{} `json:"sourceHydrator"`
	}
	return json.Unmarshal(spec, &s) == nil && s.SourceHydrator != nil
}

// SourceCount returns the number of entries in spec.sources. The result is 0 for an Application with a single source,
// and for an unreadable spec.
func SourceCount(spec []byte) int {
	if !bytes.Contains(spec, []byte(`"sources"`)) {
		return 0 // most specs end here; every decision calls SourceCount
	}
	var s struct {
		Sources []json.RawMessage `json:"sources"`
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		return 0
	}
	return len(s.Sources)
}
