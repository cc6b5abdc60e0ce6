package agent

import (
	"context"
	"errors"
	"testing"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
)

// TestAHubOfAnEarlierVersion: an older hub refuses a report because of its tree, and later reports have no tree.
func TestAHubOfAnEarlierVersion(t *testing.T) {
	undeclared := errors.New(`failed to create typed patch object (cluster1/a; apps.open-cluster-management.io/v1alpha1, ` +
		`Kind=ApplicationReport): .tree: field not declared in schema`)
	withTree := &v1alpha1.ApplicationReport{Tree: []v1alpha1.TreeNode{{Kind: "Pod", Name: "a", UID: "p"}}}
	for title, tc := range map[string]struct {
		trees  *Trees
		report *v1alpha1.ApplicationReport
		err    error
		want   bool
	}{
		"an agent without the option": {nil, &v1alpha1.ApplicationReport{}, undeclared, false},
		"a report that is taken":      {&Trees{}, withTree, nil, false},
		"another failure":             {&Trees{}, withTree, errors.New("forbidden"), false},
		"a report without a tree":     {&Trees{}, &v1alpha1.ApplicationReport{}, undeclared, false},
		"an older hub":                {&Trees{}, withTree, undeclared, true},
	} {
		got := tc.trees.refused(context.Background(), tc.report, tc.err)
		if got != tc.want || tc.trees != nil && tc.trees.paused() != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}
