package work

import (
	"encoding/json"
	"maps"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Unmark removes the marks of the hub's controllers (argocd.IsMark) from the manifests of a work. An earlier version
// of Towline sent the marks. others are the keys of further labels with the role of a mark on this hub. Unmark does
// not change an unreadable manifest.
func Unmark(w *workv1.ManifestWork, others ...string) {
	for i := range w.Spec.Workload.Manifests {
		if raw, err := unmarked(w.Spec.Workload.Manifests[i].Raw, others); err == nil {
			w.Spec.Workload.Manifests[i].Raw = raw
		}
	}
}

// unmarked returns a manifest without marks. The bytes of a manifest without marks stay the same.
func unmarked(raw []byte, others []string) ([]byte, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, err
	}
	meta, err := object(fields["metadata"])
	if err != nil {
		return nil, err
	}
	same := true
	for _, name := range []string{"annotations", "labels"} {
		all, err := object(meta[name])
		if err != nil {
			return nil, err
		}
		kept := argocd.Unmarked(all)
		if name == "labels" {
			maps.DeleteFunc(kept, func(key string, _ json.RawMessage) bool { return slices.Contains(others, key) })
		}
		if len(kept) == len(all) {
			continue
		}
		same = false
		if err := put(meta, name, kept, len(kept) > 0); err != nil {
			return nil, err
		}
	}
	if same {
		return raw, nil
	}
	if err := put(fields, "metadata", meta, true); err != nil {
		return nil, err
	}
	return recounted(fields)
}
