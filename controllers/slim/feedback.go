package slim

import (
	"reflect"
	"slices"
	"unique"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// rules are what works ask their agents for, by the number of values, and strategy is how they have the Application
// applied: the larger part of a work, and the same in all.
var (
	rules = func() map[int][]workv1.FeedbackRule {
		out := map[int][]workv1.FeedbackRule{}
		for sources := range feedback.MaxSources + 1 {
			r := feedback.Rules(sources)
			out[len(r[0].JsonPaths)] = r
		}
		return out
	}()
	strategy = work.Strategy()
)

// codes are the words that most values are.
var codes = func() map[string]*string {
	out := map[string]*string{}
	for _, code := range slices.Concat(argocd.HealthCodes, argocd.SyncCodes, argocd.OperationPhases) {
		out[code] = &code
	}
	return out
}()

func config(c *workv1.ManifestConfigOption) {
	intern(&c.ResourceIdentifier.Group, &c.ResourceIdentifier.Resource, &c.ResourceIdentifier.Namespace)
	if len(c.FeedbackRules) == 1 {
		if known := rules[len(c.FeedbackRules[0].JsonPaths)]; reflect.DeepEqual(known, c.FeedbackRules) {
			c.FeedbackRules = known
		}
	}
	if reflect.DeepEqual(strategy, c.UpdateStrategy) {
		c.UpdateStrategy = strategy
	}
}

// values are reported values with their names shared with other objects, and texts that occur twice, as times and
// revisions do, with each other.
func values(in []workv1.FeedbackValue) []workv1.FeedbackValue {
	out := exact(in)
	for i := range out {
		v := &out[i]
		intern(&v.Name)
		v.Value.Type = unique.Make(v.Value.Type).Value()
		if v.Value.String == nil {
			continue
		}
		if code := codes[*v.Value.String]; code != nil {
			v.Value.String = code
			continue
		}
		for j := range i {
			if before := out[j].Value.String; before != nil && *before == *v.Value.String {
				v.Value.String = before
				break
			}
		}
	}
	return out
}
