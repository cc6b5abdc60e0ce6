package clusterimport

import (
	"fmt"
	"testing"

	"github.com/towline-io/towline/pkg/fixture"
)

// BenchmarkDecide measures an unchanged GitOpsCluster of 5,000 clusters. Each change of a cluster costs such a
// decision.
func BenchmarkDecide(b *testing.B) {
	var names []string
	s := fresh()
	for i := range 5000 {
		name := fmt.Sprintf("cluster-%04d", i)
		names = append(names, name)
		s.Clusters[name] = fixture.Cluster(name).URL("https://"+name+".example.com").Label("env", "dev").Label("region", "eu").Obj()
	}
	s.with(choosing(names...)).settle()
	b.ReportAllocs()
	for b.Loop() {
		if plan := Decide(s.Facts, s.Options); len(plan.Stages) > 0 || plan.Status != nil {
			b.Fatal("something is to be done")
		}
	}
}
