package resourcesync

import (
	"context"
	"crypto/sha256"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
)

// counted remembers of which observations values that do not fit have been counted: an observation is read by several
// controllers, and again whenever anything else of its Application changes. Should more Applications than this have
// such values at a time, some are counted again.
var counted = lru.New(10_000)

// rejection is the place of one source's observation of an Application.
type rejection struct {
	source string
	work   types.NamespacedName
}

// noteRejected counts and logs the values of an observation that were left out, once. observation tells it from others
// in the same place; fields are what the values are called, after the prefix.
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
