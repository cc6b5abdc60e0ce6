package delivery

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// ofApplication returns a check that needs only the Application.
func ofApplication(check func(*argocd.Application) string) func(*view) block {
	return func(v *view) block { return blockFor("", check(v.App)) }
}

// fit reports whether the Application alone has no property that blocks its delivery.
func fit(app *argocd.Application) bool {
	for _, check := range []func(*argocd.Application) string{noCluster, badCluster, badNamespace, notSkipped, badAnnotation} {
		if check(app) != "" {
			return false
		}
	}
	return true
}

// Named reports whether the Application names a possible cluster. Otherwise the Application can have no work.
func Named(app *argocd.Application) bool { return noCluster(app) == "" && badCluster(app) == "" }

// Sent reports whether the Application asks for a work, and not for the end of its works.
func Sent(app *argocd.Application) bool {
	return app.Pulled() && app.DeletionTimestamp.IsZero() && !app.ToBeReleased() && fit(app)
}

func noCluster(app *argocd.Application) string {
	if app.Cluster() != "" {
		return ""
	}
	if app.Placement() != "" {
		return fmt.Sprintf("Placement %s/%s, which the annotation %s names, has not chosen a cluster yet",
			app.Namespace, app.Placement(), apis.AnnotationPlacement)
	}
	return fmt.Sprintf("the pull label is set but no cluster is named: set the annotation %s to the name of a ManagedCluster",
		apis.AnnotationCluster)
}

func badCluster(app *argocd.Application) string {
	errs := validation.IsDNS1123Label(app.Cluster())
	if len(errs) == 0 {
		return ""
	}
	return fmt.Sprintf("annotation %s: %.80q cannot be the name of a ManagedCluster: %s",
		apis.AnnotationCluster, app.Cluster(), strings.Join(errs, "; "))
}

func badNamespace(app *argocd.Application) string {
	errs := validation.IsDNS1123Label(app.ClusterNamespace())
	if len(errs) == 0 {
		return ""
	}
	if app.Annotations[apis.AnnotationAppNamespace] == "" && app.Home != "" {
		return fmt.Sprintf("Towline's flag --app-namespaces gives Applications of namespace %s the namespace %q on cluster %s, but this namespace "+
			"is not a valid name: %s. Choose a shorter name in the flag, or set the annotation %s if the flag --allowed-app-namespaces permits the value",
			app.Namespace, app.Home, app.Cluster(), strings.Join(errs, "; "), apis.AnnotationAppNamespace)
	}
	return fmt.Sprintf("annotation %s: %.80q cannot be a namespace: %s",
		apis.AnnotationAppNamespace, app.ClusterNamespace(), strings.Join(errs, "; "))
}

func notSkipped(app *argocd.Application) string {
	if app.ReconcileSkipped() {
		return ""
	}
	return fmt.Sprintf("the hub's own Argo CD would also deploy this Application: set the annotation %s to \"true\" "+
		"(for an Application of an ApplicationSet, in the template)", apis.AnnotationSkipReconcile)
}

// badAnnotation returns the problem of an annotation with an unknown value, or of invalid destination annotations. The
// author may want to keep the running workload, so Towline does nothing before a correction.
func badAnnotation(app *argocd.Application) string {
	for _, words := range []struct {
		annotation string
		allowed    []string
	}{
		{apis.AnnotationAdopt, []string{"", apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways}},
		{apis.AnnotationMoveOrder, []string{"", apis.MoveNewFirst, apis.MoveOldFirst}},
		{apis.AnnotationSource, []string{"", apis.SourceDirect, apis.SourceHub}},
	} {
		if !slices.Contains(words.allowed, app.Annotations[words.annotation]) {
			return misread(app, words.annotation, words.allowed[1:]...) + "; until the correction, Towline sends nothing"
		}
	}
	if err := app.DestinationThere().Check(); err != nil {
		return err.Error() + "; until the correction, Towline sends nothing"
	}
	if argocd.Unreadable(app.Annotations, apis.AnnotationRelease) {
		return misread(app, apis.AnnotationRelease, "true", "false") + "; until the correction, Towline sends and releases nothing"
	}
	return ""
}

// misread returns the message about an annotation with an unknown value.
func misread(app *argocd.Application, annotation string, allowed ...string) string {
	return fmt.Sprintf("annotation %s: %.80q is not one of %s: correct the value",
		annotation, app.Annotations[annotation], strings.Join(allowed, ", "))
}

// clusterSecretLabel is Argo CD's label on cluster Secrets. A cluster generator with this label selects all clusters
// except the hub.
const clusterSecretLabel = "argocd.argoproj.io/secret-type" //nolint:gosec // a label, and no credential

func checkClusterExists(v *view) block {
	if v.target().Exists {
		return pass
	}
	if v.App.Cluster() == apis.InClusterName {
		return blockf("%q is Argo CD's name for the hub itself, and not a ManagedCluster. A cluster generator with an empty selector adds this "+
			"name: leave the name out with the selector matchLabels {%s: cluster}, or name the hub's own ManagedCluster in the annotation %s",
			apis.InClusterName, clusterSecretLabel, apis.AnnotationCluster)
	}
	return blockf("ManagedCluster %q does not exist: import the cluster, or correct the annotation %s", v.App.Cluster(), apis.AnnotationCluster)
}

func checkClusterStays(v *view) block {
	if !v.target().Deleting {
		return pass
	}
	return blockf("ManagedCluster %q is being deleted: name another cluster in the annotation %s, or delete this Application",
		v.App.Cluster(), apis.AnnotationCluster)
}

func checkClusterAccepted(v *view) block {
	if v.target().Accepted {
		return pass
	}
	return blockf("ManagedCluster %q is not accepted: set its spec.hubAcceptsClient to true (clusteradm accept --clusters %s)",
		v.App.Cluster(), v.App.Cluster())
}

func checkOwnCopy(v *view) block {
	if !v.target().Hub || v.App.ClusterNamespace() != v.App.Namespace {
		return pass
	}
	return blockf("ManagedCluster %q is the hub itself, where this Application would overwrite its own copy in namespace %q: "+
		"set the annotation %s to another namespace, or give the cluster a namespace in Towline's flag --app-namespaces",
		v.App.Cluster(), v.App.Namespace, apis.AnnotationAppNamespace)
}
