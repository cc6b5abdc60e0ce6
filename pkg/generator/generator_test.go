package generator_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/generator"
)

func TestFollows(t *testing.T) {
	decisions := []clusterv1beta1.PlacementDecision{{ObjectMeta: metav1.ObjectMeta{
		Name: "all-decision-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: "all"},
	}}}
	const by = `{"clusterDecisionResource":{"configMapRef":"acm-placement","requeueAfterSeconds":180,"labelSelector":{"matchLabels":{` +
		`"cluster.open-cluster-management.io/placement":"all"}}}}`
	expression := func(e string) string {
		return `{"generators":[{"clusterDecisionResource":{"labelSelector":{"matchExpressions":[` + e + `]}}}]}`
	}
	for title, tc := range map[string]struct {
		spec string
		want bool
	}{
		"by label":            {`{"generators":[` + by + `]}`, true},
		"another Placement":   {strings.Replace(`{"generators":[`+by+`]}`, `"all"`, `"other"`, 1), false},
		"by name":             {`{"generators":[{"clusterDecisionResource":{"name":"all-decision-1"}}]}`, true},
		"another name":        {`{"generators":[{"clusterDecisionResource":{"name":"all-decision-2"}}]}`, false},
		"by an expression":    {expression(`{"key":"cluster.open-cluster-management.io/placement","operator":"In","values":["all","x"]}`), true},
		"by a bad expression": {expression(`{"key":"a","operator":"Near"}`), false},
		"by nothing":          {`{"generators":[{"clusterDecisionResource":{}}]}`, false},
		"in a matrix":         {`{"generators":[{"list":{}},{"matrix":{"generators":[{"git":{}},` + by + `]}}]}`, true},
		"in a merge in one":   {`{"generators":[{"matrix":{"generators":[{"merge":{"generators":[` + by + `]}}]}}]}`, true},
		"too deep":            {strings.Repeat(`{"generators":[{"matrix":`, 5) + `{"generators":[` + by + `]}` + strings.Repeat(`}]}`, 5), false},
		"clusters":            {`{"generators":[{"clusters":{}}]}`, false},
		"none":                {`{}`, false},
		"not one":             {`[]`, false},
	} {
		if got := generator.Follows([]byte(tc.spec), decisions); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
	for spec, want := range map[string]bool{
		`{"generators":[` + by + `]}`: true, `{"generators":[{"matrix":{"generators":[{"git":{}},` + by + `]}}]}`: true,
		`{"generators":[{"clusters":{}}]}`: false, `[]`: false,
	} {
		if got := generator.Chooses([]byte(spec)); got != want {
			t.Errorf("Chooses %s: %t", spec, got)
		}
	}
	if generator.Follows([]byte(`{"generators":[`+by+`]}`), nil) {
		t.Error("it follows no decision")
	}
}
