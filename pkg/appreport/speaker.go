package appreport

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// appliedWork is the kind of the cluster's owner objects for the work agent's applied objects. hubHash is the length of
// the hash before "-<name of the work>" in the owner's name (v1.2.0).
const (
	appliedWork = "AppliedManifestWork"
	hubHash     = 64
)

// Speaker returns the reported Application of a ManifestWork, from the cluster's Applications with the mark of the
// work; nil for none. Anyone on the cluster can copy the mark to a different Application. The hub accepts only a report
// on the sent Application. The choice prevents alternating writes by two Applications, and a copy cannot silence the
// right Application.
//
// The work's name must match the Application's name. Of several Applications, the Application applied by the work agent
// is first, then an Application not under deletion, then the oldest.
func Speaker(workName string, marked []argocd.Application) *argocd.Application {
	var best *argocd.Application
	for i := range marked {
		if app := &marked[i]; work.NamedAfter(workName, app.Name) && (best == nil || before(workName, app, best) < 0) {
			best = app
		}
	}
	return best
}

// before compares two Applications with the same mark. A negative result means that a comes first.
func before(workName string, a, b *argocd.Application) int {
	return cmp.Or(
		firstly(applied(workName, a), applied(workName, b)),
		firstly(a.DeletionTimestamp.IsZero(), b.DeletionTimestamp.IsZero()),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name),
	)
}

// firstly sorts true before false.
func firstly(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// Owned returns whether a work agent owns an Application of the cluster. An Application released by the hub keeps its
// mark, but has no owner.
func Owned(app *argocd.Application) bool {
	return slices.ContainsFunc(app.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == appliedWork })
}

// applied returns whether the work agent has applied an Application from the given work. The owner of applied objects
// is a cluster object with the name "<hash of the hub>-<work>" (v1.2.0). If the deletion of the work keeps the applied
// objects, these objects have no owner.
func applied(workName string, app *argocd.Application) bool {
	return slices.ContainsFunc(app.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == appliedWork && len(o.Name) == hubHash+1+len(workName) && strings.HasSuffix(o.Name, "-"+workName)
	})
}
