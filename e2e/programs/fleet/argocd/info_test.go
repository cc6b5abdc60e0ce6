package argocd

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v3/controller/metrics"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	applister "github.com/argoproj/argo-cd/v3/pkg/client/listers/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/db"
	"k8s.io/client-go/tools/cache"
)

// clusters contains every requested cluster.
type clusters struct{ db.ArgoDB }

func (clusters) GetCluster(_ context.Context, server string) (*v1alpha1.Cluster, error) {
	return &v1alpha1.Cluster{Server: server}, nil
}

// TestTheInfoIsArgoCDs compares the labels of argocd_app_info and their values with the results of Argo CD's own code
// for the same Applications.
func TestTheInfoIsArgoCDs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "pkg/appinfo/testdata/info.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var told []struct {
		Application *v1alpha1.Application
		Labels      map[string]string
	}
	if err := json.Unmarshal(data, &told); err != nil {
		t.Fatal(err)
	}
	for _, tc := range told {
		t.Run(tc.Application.Name, func(t *testing.T) {
			indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			if err := indexer.Add(tc.Application); err != nil {
				t.Fatal(err)
			}
			registry := metrics.NewAppRegistry(applister.NewApplicationLister(indexer), func(any) bool { return true }, nil, nil, clusters{})
			families, err := registry.Gather()
			if err != nil || len(families) != 1 || families[0].GetName() != "argocd_app_info" || len(families[0].GetMetric()) != 1 {
				t.Fatalf("got %v, %v", families, err)
			}
			want := map[string]string{}
			for _, label := range families[0].GetMetric()[0].GetLabel() {
				want[label.GetName()] = label.GetValue()
			}
			if !maps.Equal(want, tc.Labels) {
				t.Errorf("Argo CD says\n%v, Towline\n%v", want, tc.Labels)
			}
		})
	}
}
