package trim

import (
	"reflect"
	"unique"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// rules are the feedback rules of works, by the number of values, each with and without the values that change with
// every comparison. strategy is the update strategy of works for the Application. Rules and strategy are the larger
// part of a work, and equal in all works.
var (
	rules = func() map[amount][]workv1.FeedbackRule {
		out := map[amount][]workv1.FeedbackRule{}
		for sources := range feedback.MaxSources + 1 {
			r := feedback.Rules(sources)
			out[amountOf(r)] = r
			r = append(feedback.Rules(sources), feedback.VolatileRule())
			out[amountOf(r)] = r
		}
		return out
	}()
	strategy = work.Strategy()
)

// amount is the number of rules, and the number of values of the first rule.
type amount struct{ rules, values int }

func amountOf(r []workv1.FeedbackRule) amount { return amount{len(r), len(r[0].JsonPaths)} }

func config(c *workv1.ManifestConfigOption) {
	intern(&c.ResourceIdentifier.Group, &c.ResourceIdentifier.Resource, &c.ResourceIdentifier.Namespace)
	if len(c.FeedbackRules) > 0 {
		if known := rules[amountOf(c.FeedbackRules)]; reflect.DeepEqual(known, c.FeedbackRules) {
			c.FeedbackRules = known
		}
	}
	if known := feedback.ComparedRules(); reflect.DeepEqual(known, c.ConditionRules) {
		c.ConditionRules = known
	}
	if reflect.DeepEqual(strategy, c.UpdateStrategy) {
		c.UpdateStrategy = strategy
	}
}

// yes and no are the shared targets of all boolean pointers.
var yes, no = true, false

// values returns the reported values with shared names and texts. Most texts are words, revisions and times that occur
// in other objects as well.
func values(in []workv1.FeedbackValue) []workv1.FeedbackValue {
	out := exact(in)
	for i := range out {
		v := &out[i]
		intern(&v.Name)
		v.Value.Type = unique.Make(v.Value.Type).Value()
		if v.Value.String != nil {
			v.Value.String = sharedText(v.Value.String)
		}
		switch {
		case v.Value.Boolean == nil:
		case *v.Value.Boolean:
			v.Value.Boolean = &yes
		default:
			v.Value.Boolean = &no
		}
	}
	return out
}
