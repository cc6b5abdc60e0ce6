package status

import (
	"bytes"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

const (
	// maxFormer is the maximum number of remembered specs for each Application, maxFormerSpec the maximum size of a
	// remembered spec, and maxChanged the maximum number of Applications with remembered specs: 32 MB at the worst.
	maxFormer     = 2
	maxFormerSpec = 8 << 10
	maxChanged    = 2048
)

// formerSpecs remembers the last specs of Applications before a change. The cluster deploys a spec, and the hub hears of the
// deployment some seconds later. If a user changes the source meanwhile, only the former spec explains the deployment. The
// hub then remembers the source in the shown history.
type formerSpecs struct {
	// byUID has a [][]byte for the UID of an Application.
	byUID *lru.Cache
}

func newFormerSpecs() *formerSpecs { return &formerSpecs{byUID: lru.New(maxChanged)} }

// of returns the former specs of an Application, the newest last.
func (f *formerSpecs) of(uid types.UID) [][]byte {
	if f == nil {
		return nil
	}
	specs, _ := f.byUID.Get(uid)
	out, _ := specs.([][]byte)
	return out
}

// note remembers the spec before a change. An Application on another cluster has no former spec: the former cluster
// deployed the former specs.
func (f *formerSpecs) note(before, after *argocd.Application) {
	switch {
	case before.UID != after.UID || work.Key(before) != work.Key(after):
		f.byUID.Remove(before.UID)
	case !bytes.Equal(before.Spec.Raw, after.Spec.Raw) && len(before.Spec.Raw) <= maxFormerSpec:
		specs := append(slices.Clone(f.of(before.UID)), before.Spec.Raw)
		f.byUID.Add(before.UID, specs[max(0, len(specs)-maxFormer):])
	}
}

// changes is the predicate for new versions of Applications. The predicate sees every change, and notes the former specs.
func (f *formerSpecs) changes() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			f.note(e.ObjectOld.(*argocd.Application), e.ObjectNew.(*argocd.Application))
			return predicate.ResourceVersionChangedPredicate{}.Update(e)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			f.byUID.Remove(e.Object.GetUID())
			return true
		},
	}
}
