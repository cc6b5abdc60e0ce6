package resourcesync

import (
	"context"
	"crypto/sha256"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
)

// counted remembers the observations whose rejected values are already counted. Several controllers read an
// observation, and read the observation again after any change of its Application. If more Applications than the limit
// have rejected values, some values are counted again.
var counted = lru.New(10_000)

// rejection identifies a source's observation of an Application.
type rejection struct {
	source string
	work   types.NamespacedName
}

// noteRejected counts and logs the rejected values of an observation once. observation distinguishes the observation
// from earlier observations of the same work and source. fields are the names of the values after the prefix.
func noteRejected(ctx context.Context, source string, work types.NamespacedName, observation, prefix string, fields []string) {
	key := rejection{source, work}
	if len(fields) == 0 {
		counted.Remove(key)
		return
	}
	digest := sha256.Sum256([]byte(strings.Join(fields, ",") + "\n" + observation))
	if before, ok := counted.Get(key); ok && before == digest {
		return
	}
	counted.Add(key, digest)
	for _, field := range fields {
		rejectedValues.WithLabelValues(prefix + field).Inc()
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Values that do not fit were left out", "source", source, "work", work.String(), "values", fields)
}
