package report_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/report"
)

// BenchmarkChange measures one change in a set. The cost must not grow with the set.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := fill(n)
			a := app("cluster00500").Obj()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				put(s, a, typical(i), "")
			}
		})
	}
}

// BenchmarkSame measures an observation without a change.
func BenchmarkSame(b *testing.B) {
	s := fill(1000)
	a, same := app("cluster00500").Obj(), typical(500)
	b.ReportAllocs()
	for b.Loop() {
		if put(s, a, same, "") {
			b.Fatal("a change")
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 5000, 10_000} {
		s := fill(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				build(s)
			}
		})
	}
}

// BenchmarkWrite measures the preparation of a write request: the comparison and the JSON body.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		r := build(fill(n))
		report.Publish(r, nil, 0, metav1.Now())
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				report.DigestOf(r)
				report.Size(r)
			}
		})
	}
}
