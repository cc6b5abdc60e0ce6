package reading

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ImageVersion returns the tag or digest of the first image with a tag or digest in a Deployment of a work; empty for none. An
// empty name stands for all Deployments of the work.
func ImageVersion(w *workv1.ManifestWork, name string) string {
	for _, m := range w.Spec.Workload.Manifests {
		d := &appsv1.Deployment{}
		if json.Unmarshal(m.Raw, d) != nil || d.Kind != "Deployment" || name != "" && d.Name != name {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			image := c.Image[strings.LastIndex(c.Image, "/")+1:]
			if i := strings.IndexAny(image, "@:"); i >= 0 {
				return image[i+1:]
			}
		}
	}
	return ""
}
