package reading_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/reading"
)

// TestGet: what can be none is not asked for. The API server is away here.
func TestGet(t *testing.T) {
	scheme, err := reading.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(&rest.Config{Host: "127.0.0.1:1"}, client.Options{Scheme: scheme, Mapper: reading.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
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
