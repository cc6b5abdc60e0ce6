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

// Pulled tells whether the Application carries the pull label with a value that means true.
func (a *Application) Pulled() bool {
	return isTrue(a.Labels[apis.LabelPull])
}

// ReconcileSkipped tells whether the hub's own Argo CD leaves the Application alone. Argo CD 2.14 parses the
// annotation with strconv.ParseBool and takes anything else for false; so does this.
func (a *Application) ReconcileSkipped() bool {
	return isTrue(a.Annotations[apis.AnnotationSkipReconcile])
}

// ToBeReleased tells whether the Application asks to be released.
func (a *Application) ToBeReleased() bool { return isTrue(a.Annotations[apis.AnnotationRelease]) }

// ToBeForced tells whether the Application's deletion is not to wait for its cluster.
func (a *Application) ToBeForced() bool { return isTrue(a.Annotations[apis.AnnotationForceDelete]) }

// DeletedOnOutage tells whether an outage of its cluster may delete the Application there.
func (a *Application) DeletedOnOutage() bool {
	return isTrue(a.Annotations[apis.AnnotationDeleteOnOutage])
}

// Paused tells whether the annotations of an object pause what belongs to it. A value that is neither true nor false does:
// whoever set it did not want things to go on.
func Paused(annotations map[string]string) bool {
	return isTrue(annotations[apis.AnnotationPaused]) || Unreadable(annotations, apis.AnnotationPaused)
}

// PausedBy is the object with those annotations if they pause, with a remark on a value that only counts as true; empty otherwise.
func PausedBy(object string, annotations map[string]string) string {
	switch {
	case !Paused(annotations):
		return ""
	case Unreadable(annotations, apis.AnnotationPaused):
		return fmt.Sprintf("%s, whose value %.80q is neither true nor false and counts as true", object, annotations[apis.AnnotationPaused])
	}
	return object
}

// Unreadable tells whether an annotation that is true or false is neither. An empty one counts as not set.
func Unreadable(annotations map[string]string, key string) bool {
	value := annotations[key]
	if value == "" {
		return false // most are, and an error costs
	}
	_, err := strconv.ParseBool(value)
	return err != nil
}

// Cluster is the name of the ManagedCluster that the Application asks for; empty when it asks for none.
func (a *Application) Cluster() string {
	return a.Annotations[apis.AnnotationCluster]
}

// Placement is the name of the Placement, in the Application's own namespace, that chooses its cluster; empty for none.
func (a *Application) Placement() string {
	return a.Annotations[apis.AnnotationPlacement]
}

// ClusterNamespace is the namespace that the Application is to have on its cluster.
func (a *Application) ClusterNamespace() string {
	if ns := a.Annotations[apis.AnnotationAppNamespace]; ns != "" {
		return ns
	}
	if a.Home != "" {
		return a.Home
	}
	return a.Namespace
}

// Refresh is the kind of refresh that the Application asks for: normal, hard, or apis.RefreshSpecChanged; empty when it asks
// for none. Argo CD takes every value of the annotation but "hard" for normal, an empty one too.
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

// SpecChanged tells whether what the Application deploys has changed on the hub, and its cluster has not compared that yet.
func (a *Application) SpecChanged() bool { return a.Refresh() == apis.RefreshSpecChanged }

// Project is the name of the Application's AppProject; that of Argo CD's default one where the spec names none, or
// cannot be read.
func (a *Application) Project() string {
	var spec struct {
		Project string `json:"project"`
	}
	if err := utiljson.Unmarshal(a.Spec.Raw, &spec); err != nil || spec.Project == "" {
		return DefaultProject
	}
	return spec.Project
}

// Destination is how the spec names the cluster: by a name, by an address, or, what Argo CD refuses, by both. Neither is there
// where the spec cannot be read.
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

// withoutSlash is an address without slashes at its end, as Argo CD compares addresses.
func withoutSlash(server string) string { return strings.TrimRight(server, "/") }

// ApplicationSet is the name of the ApplicationSet, in the same namespace, that controls the Application, and
// whether there is one.
func (a *Application) ApplicationSet() (string, bool) {
	owner := metav1.GetControllerOf(a)
	if owner == nil || owner.Kind != "ApplicationSet" || !strings.HasPrefix(owner.APIVersion, GroupVersion.Group+"/") {
		return "", false
	}
	return owner.Name, true
}

// Cascades tells whether a finalizer of Argo CD holds the Application until the cluster's side is gone.
func (a *Application) Cascades() bool {
	return slices.ContainsFunc(a.Finalizers, IsCascadeFinalizer)
}

// IsCascadeFinalizer tells whether a finalizer is one of Argo CD's that the managed cluster answers for: the
// resources finalizer, the pre-delete and the post-delete finalizer, in all their forms. These are all finalizers that
// Argo CD 2.14 to 3.5 takes off an Application in the end; the hook finalizer it takes off when a sync is over.
func IsCascadeFinalizer(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == apis.FinalizerPreDelete || FinalizerTravels(f)
}

// FinalizerTravels tells whether the Application on the cluster is to have a finalizer of the hub's. A pre-delete finalizer
// does not travel: an Argo CD before 3.3 never takes it off, and a newer one sets it there itself with each comparison,
// where the Application has such hooks.
func FinalizerTravels(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == apis.FinalizerResources || base == apis.FinalizerPostDelete
}

// FinalizersThere are the finalizers that the Application is to have on its cluster.
func (a *Application) FinalizersThere() []string {
	return slices.DeleteFunc(slices.Clone(a.Finalizers), func(f string) bool { return !FinalizerTravels(f) })
}

// DestructiveFinalizers are those by which Argo CD (2 and 3) destroys what an Application deployed before it lets that go.
var DestructiveFinalizers = []string{
	apis.FinalizerResources, apis.FinalizerResources + "/background", apis.FinalizerResources + "/foreground",
}

// Destroys tells whether one of these finalizers destroys what their Application deployed.
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

// Empty tells whether the Application has no status yet, as far as it is known here.
func (s *Status) Empty() bool {
	return s.Health == (Health{}) && s.Sync == nil && s.OperationState == nil && s.ReconciledAt == "" &&
		len(s.Conditions) == 0 && len(s.Resources) == 0 && s.Summary == nil && len(s.History) == 0
}

// Hydrates tells whether a spec asks Argo CD's source hydrator for its manifests; not one that cannot be read.
func Hydrates(spec []byte) bool {
	if !bytes.Contains(spec, []byte(`"sourceHydrator"`)) {
		return false // as nearly all
	}
	var s struct {
		SourceHydrator *struct{} `json:"sourceHydrator"`
	}
	return json.Unmarshal(spec, &s) == nil && s.SourceHydrator != nil
}

// SourceCount is how many entries spec.sources has; 0 for an Application with one source, and for a spec that
// cannot be read.
func SourceCount(spec []byte) int {
	if !bytes.Contains(spec, []byte(`"sources"`)) {
		return 0 // as most: it is asked for each decision
	}
	var s struct {
		Sources []json.RawMessage `json:"sources"`
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		return 0
	}
	return len(s.Sources)
}
