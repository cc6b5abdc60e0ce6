package clustersecret_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/clustersecret"
)

// BenchmarkUpdate measures the update of an unchanged Secret. A GitOpsCluster of 5,000 clusters needs 5,000 updates
// for every change of a cluster.
func BenchmarkUpdate(b *testing.B) {
	i := of(cluster1().Label("region", "eu").Label("zone", "a").Label("vendor", "x").Label("tier", "1"))
	existing, err := clustersecret.Trim(clustersecret.New("argocd", i))
	if err != nil {
		b.Fatal(err)
	}
	s := existing.(*corev1.Secret)
	b.ReportAllocs()
	for b.Loop() {
		if _, changed := clustersecret.Update(s, i); changed {
			b.Fatal("changed")
		}
	}
}
