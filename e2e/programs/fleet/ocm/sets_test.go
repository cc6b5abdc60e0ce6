package ocm

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	clustersdk "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta2"
	"sigs.k8s.io/yaml"
)

// TestSetsHoldClustersAsInTheTable compares Open Cluster Management's own function with the table for Towline's
// function.
func TestSetsHoldClustersAsInTheTable(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "pkg/authorization/testdata/sets.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Selector clusterv1beta2.ManagedClusterSelector `json:"selector"`
		Labels   map[string]string                     `json:"labels"`
		Holds    bool                                  `json:"holds"`
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for i, tc := range cases {
		set := &clusterv1beta2.ManagedClusterSet{Spec: clusterv1beta2.ManagedClusterSetSpec{ClusterSelector: tc.Selector}}
		set.Name = "dev"
		selector, err := clustersdk.BuildClusterSelector(set)
		if got := err == nil && selector.Matches(labels.Set(tc.Labels)); got != tc.Holds {
			t.Errorf("case %d: Open Cluster Management says %t, %v", i, got, err)
		}
	}
}
