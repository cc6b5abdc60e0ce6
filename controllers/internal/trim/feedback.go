package trim

import (
	"reflect"
	"unique"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/work"
)

// rules are the known feedback rules of works, by the number of values. strategy is the update strategy of works for
// the Application. Rules and strategy are the larger part of a work, and equal in all works.
var (
	rules = func() map[int][]workv1.FeedbackRule {
		out := map[int][]workv1.FeedbackRule{}
		for sources := range feedback.MaxSources + 1 {
			r := feedback.Rules(sources)
			out[len(r[0].JsonPaths)] = r
		}
		for _, r := range []workv1.FeedbackRule{feedback.DetailRule(), feedback.VolatileRule()} {
			out[len(r.JsonPaths)] = []workv1.FeedbackRule{r}
		}
		return out
	}()
	strategy = work.Strategy()
)

// feedbackRules returns the rules with shared paths. A single rule, as in most works, is shared as a whole.
func feedbackRules(in []workv1.FeedbackRule) []workv1.FeedbackRule {
	for i := range in {
		known := rules[len(in[i].JsonPaths)]
		switch {
		case known == nil || !reflect.DeepEqual(known[0], in[i]):
		case len(in) == 1:
			return known
		default:
			in[i] = known[0]
		}
	}
	return in
}

func config(c *workv1.ManifestConfigOption) {
	intern(&c.ResourceIdentifier.Group, &c.ResourceIdentifier.Resource, &c.ResourceIdentifier.Namespace)
	c.FeedbackRules = feedbackRules(c.FeedbackRules)
	if known := feedback.ConditionRules(); reflect.DeepEqual(known, c.ConditionRules) {
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
