package main

import (
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// person answers the prompts in order, and calls before ahead of the first answer.
type person struct {
	before  func()
	answers []string
}

// Read implements io.Reader.
func (p *person) Read(into []byte) (int, error) {
	if p.before != nil {
		p.before()
		p.before = nil
	}
	if len(p.answers) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.answers[0]+"\n")
	p.answers = p.answers[1:]
	return n, nil
}

// TestDifferentPlanNeedsANewConfirmation checks that only a different plan after a conflict needs a new confirmation.
func TestDifferentPlanNeedsANewConfirmation(t *testing.T) {
	space(t, "asks-again")
	for name, tc := range map[string]struct {
		meanwhile string
		answers   []string
		asked     int
		deleted   bool
	}{
		"same":  {`{"metadata":{"annotations":{"a":"b"}}}`, []string{"y"}, 1, true},
		"other": {`{"metadata":{"finalizers":["` + apis.FinalizerResources + `"]}}`, []string{"y", "n"}, 2, false},
		"both":  {`{"metadata":{"finalizers":["` + apis.FinalizerResources + `"]}}`, []string{"y", "y"}, 2, true},
	} {
		one := app(t, fixture.Application(name).Namespace("asks-again").Cluster("c1"))
		in := &person{answers: tc.answers, before: func() {
			if err := admin.Patch(t.Context(), one.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(tc.meanwhile))); err != nil {
				t.Error(err)
			}
		}}
		s := answering(t, "", in, "delete", name, "-n", "asks-again")
		got := now(t, one)
		if deleted := got == nil || got.DeletionTimestamp != nil; deleted != tc.deleted || strings.Count(s.errOut, "[y/N]") != tc.asked {
			t.Errorf("%s: deleted: %v, %+v", name, deleted, s)
		}
	}
}
