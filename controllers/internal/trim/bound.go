package trim

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// Limits for the parts of a cluster-written object's metadata that no other rule limits.
const (
	// maxPairs is the maximum size in bytes of an object's labels, and of its annotations. Beyond maxPairs, some pairs
	// are left out, and every kept pair has at most maxPair bytes.
	maxPairs, maxPair = 16 << 10, 1 << 10

	// maxFinalizers is the maximum number of kept finalizers.
	maxFinalizers = 16

	// maxOptions is the maximum size in bytes of the options of a work with a single Application.
	maxOptions = 64 << 10

	// maxConfigs, maxClaims, maxURL and maxConditions are limits for ManagedClusters.
	maxConfigs, maxClaims, maxURL, maxConditions = 16, 256, 1 << 10, 16
)

// boundWork limits the parts of a ManifestWork that a cluster can enlarge. The spec and the metadata belong to Towline.
// Without an admission policy, a cluster can still write both, and Towline then restores both.
func boundWork(w *workv1.ManifestWork) {
	var exempt string
	if _, ok := dependency.KindOf(w.Name); ok {
		exempt = apis.AnnotationReleasedTo // the writer of the annotation limits its size
	}
	many := exempt != ""
	if len(w.Annotations[apis.AnnotationReplaced]) <= work.MaxReplaced && !many {
		exempt = apis.AnnotationReplaced // a freeze needs the annotation
	}
	boundMeta(&w.ObjectMeta, isOurs, exempt)
	boundSpec(&w.Spec, many)
	feedback.Bound(&w.Status, w.Spec.ManifestConfigs)
}

// boundSpec removes parts of a spec that are too large for a spec of Towline. The remaining spec differs from Towline's
// rendered spec.
func boundSpec(spec *workv1.ManifestWorkSpec, many bool) {
	payload := 0
	for i := range spec.Workload.Manifests {
		payload += len(spec.Workload.Manifests[i].Raw)
	}
	if payload > work.MaxPayload {
		spec.Workload.Manifests = nil
	}
	limit := maxOptions
	if many { // a work with dependencies has options for each carried object
		limit = work.MaxPayload
	}
	if Size(spec.ManifestConfigs) > limit {
		spec.ManifestConfigs = nil
	}
	if Size(spec.Executor) > maxPairs {
		spec.Executor = &workv1.ManifestWorkExecutor{}
	}
	if Size(spec.DeleteOption) > maxPairs {
		spec.DeleteOption = &workv1.DeleteOption{}
	}
}

func isOurs(key string) bool { return strings.HasPrefix(key, apis.Group+"/") }

// boundCluster limits the parts of a ManagedCluster that its agent can enlarge.
func boundCluster(c *clusterv1.ManagedCluster) {
	boundMeta(&c.ObjectMeta, func(key string) bool {
		return isOurs(key) || key == apis.LabelLocalCluster || key == clusterv1beta2.ClusterSetLabel
	}, "")
	c.Spec.Taints = nil
	c.Spec.ManagedClusterClientConfigs = head(c.Spec.ManagedClusterClientConfigs, maxConfigs)
	for i := range c.Spec.ManagedClusterClientConfigs {
		config := &c.Spec.ManagedClusterClientConfigs[i]
		config.CABundle = nil
		if len(config.URL) > maxURL {
			config.URL = strings.Clone(config.URL[:maxURL])
		}
	}
	claims := slices.DeleteFunc(c.Status.ClusterClaims, func(claim clusterv1.ManagedClusterClaim) bool {
		return len(claim.Name)+len(claim.Value) > maxPair
	})
	c.Status.ClusterClaims = head(claims, maxClaims)
	c.Status.Conditions = head(c.Status.Conditions, maxConditions)
	for i := range c.Status.Conditions {
		if condition := &c.Status.Conditions[i]; len(condition.Message) > feedback.MaxMessage {
			condition.Message = feedback.Clean(condition.Message, feedback.MaxMessage)
		}
	}
}

// boundMeta removes unused metadata. If an object has too many labels or annotations, the keys of first have priority.
func boundMeta(m *metav1.ObjectMeta, first func(key string) bool, exempt string) {
	m.OwnerReferences, m.GenerateName = nil, ""
	m.Labels = boundPairs(m.Labels, first, "")
	m.Annotations = boundPairs(m.Annotations, first, exempt)
	m.Finalizers = boundFinalizers(m.Finalizers)
}

func boundPairs(m map[string]string, first func(key string) bool, exempt string) map[string]string {
	total := 0
	for k, v := range m {
		if k != exempt {
			total += len(k) + len(v)
		}
	}
	if total <= maxPairs {
		return m
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if x, y := first(a), first(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	out := map[string]string{}
	left := maxPairs
	for _, k := range keys {
		n := len(k) + len(m[k])
		switch {
		case k == exempt:
			out[k] = m[k]
		case n <= min(left, maxPair):
			out[k] = m[k]
			left -= n
		}
	}
	return out
}

func boundFinalizers(in []string) []string {
	if len(in) <= maxFinalizers {
		return in
	}
	out := slices.Clone(in[:maxFinalizers])
	if slices.Contains(in, workv1.ManifestWorkFinalizer) && !slices.Contains(out, workv1.ManifestWorkFinalizer) {
		out[0] = workv1.ManifestWorkFinalizer
	}
	return out
}

// head returns the first n elements of a slice, and keeps no memory for the rest.
func head[T any](in []T, n int) []T { return exact(in[:min(len(in), n)]) }
