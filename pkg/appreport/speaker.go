package appreport

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// appliedWork is the kind that owns on a cluster what the work agent has applied there, and hubHash how many characters of its name there
// are before "-<name of the work>" (v1.2.0).
const (
	appliedWork = "AppliedManifestWork"
	hubHash     = 64
)

// Speaker is the one of a cluster's Applications with the mark of a ManifestWork that a report speaks for; nil for none. The mark is
// anyone's to copy on the cluster, also to one that comes later. The hub believes only the report on the Application that it has sent:
// the choice keeps two Applications from writing over each other, and the right one from being silenced by a copy.
//
// Its name must be one that the work's is made of. Of several, the one that the work agent has applied goes first, then one that is not
// being deleted, then the oldest.
func Speaker(workName string, marked []argocd.Application) *argocd.Application {
	var best *argocd.Application
	for i := range marked {
		if app := &marked[i]; work.NamedAfter(workName, app.Name) && (best == nil || before(workName, app, best) < 0) {
			best = app
		}
	}
	return best
}

// before compares two Applications with the same mark; the first goes before the second where the result is negative.
func before(workName string, a, b *argocd.Application) int {
	return cmp.Or(
		firstly(applied(workName, a), applied(workName, b)),
		firstly(a.DeletionTimestamp.IsZero(), b.DeletionTimestamp.IsZero()),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name),
	)
}

// firstly puts that one first of which something holds.
func firstly(a, b bool) int {
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	}
	return 0
}

// Held tells whether a work agent owns an Application of the cluster. It does not own one that the hub has released, whose mark stays.
func Held(app *argocd.Application) bool {
	return slices.ContainsFunc(app.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == appliedWork })
}

// applied tells whether the work agent has applied an Application as a part of that work: it owns what it applies by an object
// "<hash of the hub>-<work>" of the cluster (v1.2.0). Where nothing is to be deleted with the work it owns nothing.
func applied(workName string, app *argocd.Application) bool {
	return slices.ContainsFunc(app.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == appliedWork && len(o.Name) == hubHash+1+len(workName) && strings.HasSuffix(o.Name, "-"+workName)
	})
}
