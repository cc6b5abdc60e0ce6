package reading_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/reading"
)

func TestImageVersion(t *testing.T) {
	deployment := func(name, image string) string {
		return `{"kind":"Deployment","metadata":{"name":"` + name + `"},"spec":{"template":{"spec":{"containers":[{"image":"` + image + `"}]}}}}`
	}
	for title, tc := range map[string]struct {
		name, want string
		manifests  []string
	}{
		"no manifest":                  {},
		"a tag":                        {want: "v1", manifests: []string{deployment("agent", "quay.io/towline:v1")}},
		"a digest":                     {want: "sha256:ab", manifests: []string{deployment("agent", "quay.io:5000/towline@sha256:ab")}},
		"a port without a tag":         {manifests: []string{deployment("agent", "quay.io:5000/towline")}},
		"a broken manifest first":      {want: "v1", manifests: []string{"{", `{"kind":"Secret"}`, deployment("agent", "towline:v1")}},
		"the named Deployment":         {name: "agent", want: "v2", manifests: []string{deployment("other", "x:v1"), deployment("agent", "towline:v2")}},
		"without the named Deployment": {name: "agent", manifests: []string{deployment("other", "x:v1")}},
	} {
		w := &workv1.ManifestWork{}
		for _, m := range tc.manifests {
			w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(m)}})
		}
		if got := reading.ImageVersion(w, tc.name); got != tc.want {
			t.Errorf("%s: got %q, want %q", title, got, tc.want)
		}
	}
}
