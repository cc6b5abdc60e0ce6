package report

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// refs returns the names of an Application's resources, including failed or missing resources. Hooks are excluded,
// because a hook runs once and ends.
func refs(resources []argocd.ResourceStatus, failures []Failure) []v1alpha1.ResourceRef {
	out := make([]v1alpha1.ResourceRef, 0, len(resources)+len(failures))
	for i := range resources {
		if !resources[i].Hook {
			out = append(out, refOf(&resources[i]))
		}
	}
	for _, f := range failures {
		out = append(out, f.Ref)
	}
	slices.SortFunc(out, compareRefs)
	return slices.Compact(out)
}

func refOf(r *argocd.ResourceStatus) v1alpha1.ResourceRef {
	apiVersion := schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
	return v1alpha1.ResourceRef{APIVersion: apiVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// counts returns the numbers of an Application's resources by status.
func counts(resources []argocd.ResourceStatus) *v1alpha1.ResourceCounts {
	out := &v1alpha1.ResourceCounts{}
	sync := map[string]*int32{"Synced": &out.Synced, "OutOfSync": &out.OutOfSync}
	health := map[string]*int32{
		"Healthy": &out.Healthy, "Progressing": &out.Progressing, "Degraded": &out.Degraded,
		"Suspended": &out.Suspended, "Missing": &out.Missing, "Unknown": &out.Unknown,
	}
	for i := range resources {
		r := &resources[i]
		if r.Hook {
			continue
		}
		out.Total++
		if n := sync[r.Status]; n != nil {
			*n++
		}
		if r.Health == nil {
			continue
		}
		if n := health[r.Health.Status]; n != nil {
			*n++
		}
	}
	return out
}

func compareRefs(a, b v1alpha1.ResourceRef) int {
	return cmp.Or(
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}

// union is the resources of all Applications of a set, each with the number of Applications that have the resource.
type union struct {
	users map[v1alpha1.ResourceRef]int

	// sorted are the sorted keys of users; nil after a change of the keys.
	sorted []v1alpha1.ResourceRef
}

func (u *union) add(refs []v1alpha1.ResourceRef, n int) {
	for _, ref := range refs {
		before := u.users[ref]
		switch {
		case before+n > 0:
			u.users[ref] = before + n
		default:
			delete(u.users, ref)
		}
		if before == 0 || before+n == 0 {
			u.sorted = nil
		}
	}
}

// list returns all resources in order. The caller must not change the slice.
func (u *union) list() []v1alpha1.ResourceRef {
	if u.sorted == nil {
		u.sorted = slices.SortedFunc(maps.Keys(u.users), compareRefs)
	}
	return u.sorted
}
