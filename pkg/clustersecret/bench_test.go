package clustersecret_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/clustersecret"
)

// BenchmarkUpdate is what a look at one cluster costs when nothing has changed: a GitOpsCluster of 5,000 takes 5,000 of
// these for every change of one.
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
