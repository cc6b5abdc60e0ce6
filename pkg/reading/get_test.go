package reading_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/reading"
)

// TestGet checks that Get sends no request for impossible names. The API server is unreachable in the test.
func TestGet(t *testing.T) {
	c := away(t)
	for key, asks := range map[types.NamespacedName]bool{
		{Namespace: "cluster1", Name: "work"}:                      true,
		{Namespace: "cluster1", Name: "50%"}:                       false,
		{Namespace: "..", Name: "work"}:                            false,
		{Namespace: "<img src=x onerror=alert(1)>/", Name: "work"}: false,
	} {
		w, err := reading.Get(t.Context(), c, key, &workv1.ManifestWork{})
		if w != nil || (err != nil) != asks {
			t.Errorf("%s: asked: %t, want %t: %v", key, err != nil, asks, err)
		}
	}
}
