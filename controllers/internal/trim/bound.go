package trim

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/internal/size"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// How much is held of what a cluster can write into the metadata of its objects, where nothing else bounds it.
const (
	// maxPairs is how many bytes the labels of an object may have, and its annotations, before some are left out, and
	// maxPair how many each of those may have that are not.
	maxPairs, maxPair = 16 << 10, 1 << 10

	// maxFinalizers is how many finalizers are held.
	maxFinalizers = 16

	// maxOptions is how many bytes the options may have of a work that carries one Application.
	maxOptions = 64 << 10

	// maxConfigs, maxClaims, maxURL and maxConditions are for ManagedClusters.
	maxConfigs, maxClaims, maxURL, maxConditions = 16, 256, 1 << 10, 16
)

// boundWork leaves of a work what its cluster cannot have made large. The spec and the metadata are Towline's: a cluster may
// write them all the same, unless an admission policy forbids it, and they are put right then.
func boundWork(w *workv1.ManifestWork) {
	var exempt string
	if _, ok := dependency.KindOf(w.Name); ok {
		exempt = apis.AnnotationReleasedTo // bounded by what writes it
	}
	boundMeta(&w.ObjectMeta, isOurs, exempt)
	boundSpec(&w.Spec, exempt != "")
	feedback.Bound(&w.Status, w.Spec.ManifestConfigs)
}

// boundSpec leaves out what is too large to be Towline's. What is left differs from what the work is to say.
func boundSpec(spec *workv1.ManifestWorkSpec, many bool) {
	payload := 0
	for i := range spec.Workload.Manifests {
		payload += len(spec.Workload.Manifests[i].Raw)
	}
	if payload > work.MaxPayload {
		spec.Workload.Manifests = nil
	}
	limit := maxOptions
	if many { // it has options for each object that it carries
		limit = work.MaxPayload
	}
	if size.Of(spec.ManifestConfigs) > limit {
		spec.ManifestConfigs = nil
	}
	if size.Of(spec.Executor) > maxPairs {
		spec.Executor = &workv1.ManifestWorkExecutor{}
	}
	if size.Of(spec.DeleteOption) > maxPairs {
		spec.DeleteOption = &workv1.DeleteOption{}
	}
}

func isOurs(key string) bool { return strings.HasPrefix(key, apis.Group+"/") }

// boundCluster leaves of a ManagedCluster what its agent cannot have made large.
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

// boundMeta leaves out what nobody reads, and of labels and annotations that are too many those that are not first.
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

// head is the beginning of a slice, and nothing of the rest in memory.
func head[T any](in []T, n int) []T { return exact(in[:min(len(in), n)]) }
