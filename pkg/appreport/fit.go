package appreport

import (
	"encoding/json"
	"slices"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// The longest lists, as in the schema of ApplicationReport.
const (
	maxConditions = 64
	maxResources  = 4096
	maxHistory    = 10
	maxImages     = 512
	maxURLs       = 256
	maxInfo       = 32
	maxOptions    = 64
	maxSynced     = 1024
)

const (
	// reserve is the space for the parts of a report outside the status, in bytes.
	reserve = 2048

	// shortMessage is the maximum size of a message in an oversized report, in bytes.
	shortMessage = 256
)

// fit reduces a status and a tree to a size, and drops the least needed parts. The result counts the dropped parts; nil
// if complete.
func fit(s *argocd.Status, tree *[]v1alpha1.TreeNode, limit int) *v1alpha1.Truncated {
	var t v1alpha1.Truncated
	t.Conditions = first(&s.Conditions, maxConditions)
	t.Resources = first(&s.Resources, maxResources)
	t.Tree = first(tree, maxNodes)
	s.History = s.History[max(0, len(s.History)-maxHistory):]
	var results *[]argocd.ResourceResult
	if s.OperationState != nil {
		o := &s.OperationState.Operation
		first(&o.Info, maxInfo)
		first(&o.Sync.SyncOptions, maxOptions)
		first(&o.Sync.Resources, maxSynced)
	}
	if s.OperationState != nil && s.OperationState.SyncResult != nil {
		results = &s.OperationState.SyncResult.Resources
		t.Results = first(results, maxResources)
	}
	if s.Summary != nil {
		t.Images = first(&s.Summary.Images, maxImages)
		t.ExternalURLs = first(&s.Summary.ExternalURLs, maxURLs)
	}
	if excess := size(s) + size(*tree) - (limit - reserve); excess > 0 {
		t.Messages = shorten(s, *tree)
		if excess = size(s) + size(*tree) - (limit - reserve); excess > 0 {
			t.Tree += drop(tree, &excess, always)
			shed(s, results, excess, &t)
		}
	}
	if t == (v1alpha1.Truncated{}) {
		return nil
	}
	t.Summary = inWords(&t)
	return &t
}

// Bound reduces a report to its maximum size, as its agent should have done.
func Bound(r *v1alpha1.ApplicationReport) {
	if cut := fit(&r.Status, &r.Tree, v1alpha1.MaxReportSize); cut != nil {
		r.Truncated = cut
	}
}

// Brief removes the lists of a report, to save memory. The removed lists count as unreadable, so earlier known lists
// stay.
func Brief(r *v1alpha1.ApplicationReport) {
	s := &r.Status
	r.Tree = nil
	s.Resources, s.Summary, s.History = nil, nil, nil
	if s.OperationState != nil && s.OperationState.SyncResult != nil {
		s.OperationState.SyncResult.Resources = nil
	}
	s.Conditions = slices.Clone(firstOfEachType(s.Conditions))
	for _, field := range []string{fieldResources, fieldSummary, fieldHistory, fieldResults} {
		if !slices.Contains(r.Unreadable, field) {
			r.Unreadable = append(r.Unreadable, field)
		}
	}
}

// shed drops entries of the lists, the least needed first, until the excess is gone.
func shed(s *argocd.Status, results *[]argocd.ResourceResult, excess int, t *v1alpha1.Truncated) {
	slices.Reverse(s.History) // the oldest go first
	t.History += drop(&s.History, &excess, always)
	slices.Reverse(s.History)
	if s.Summary != nil {
		t.Images += drop(&s.Summary.Images, &excess, always)
		t.ExternalURLs += drop(&s.Summary.ExternalURLs, &excess, always)
		if len(s.Summary.Images) == 0 && len(s.Summary.ExternalURLs) == 0 {
			s.Summary = nil
		}
	}
	if results != nil {
		t.Results += drop(results, &excess, wentWell)
	}
	t.Resources += drop(&s.Resources, &excess, isFine)
	if results != nil {
		t.Results += drop(results, &excess, always)
	}
	t.Resources += drop(&s.Resources, &excess, always)
	t.Conditions += drop(&s.Conditions, &excess, always)
}

func always[T any](T) bool { return true }

// wentWell returns whether a result is without a problem.
func wentWell(r argocd.ResourceResult) bool {
	return r.Status != "SyncFailed" && r.HookPhase != "Failed" && r.HookPhase != "Error"
}

// isFine returns whether a resource is without a problem.
func isFine(r argocd.ResourceStatus) bool {
	return r.Status == "Synced" && (r.Health == nil || r.Health.Status == "Healthy") && !r.RequiresPruning
}

// drop removes permitted entries of a list, the last first, while there is an excess.
func drop[T any](list *[]T, excess *int, mayGo func(T) bool) int32 {
	gone := map[int]bool{}
	for i, entry := range slices.Backward(*list) {
		if *excess <= 0 {
			break
		}
		if mayGo(entry) {
			*excess -= size(entry) + len(",")
			gone[i] = true
		}
	}
	if len(gone) == 0 {
		return 0
	}
	var left []T
	for i, entry := range *list {
		if !gone[i] {
			left = append(left, entry)
		}
	}
	*list = left
	return int32(len(gone)) //nolint:gosec // lists have thousands of entries at most
}

// first keeps the first entries of a list, at most limit, and returns the number of removed entries.
func first[T any](list *[]T, limit int) int32 {
	over := max(0, len(*list)-limit)
	*list = (*list)[:len(*list)-over]
	return int32(min(over, 1<<30))
}

// shorten cuts all messages in lists, and returns whether a message was too long.
func shorten(s *argocd.Status, tree []v1alpha1.TreeNode) bool {
	cut := false
	short := func(message *string) {
		if len(*message) > shortMessage {
			*message, cut = feedback.Clean(*message, shortMessage), true
		}
	}
	for i := range s.Conditions {
		short(&s.Conditions[i].Message)
	}
	for i := range s.Resources {
		if h := s.Resources[i].Health; h != nil {
			short(&h.Message)
		}
	}
	for i := range tree {
		if h := tree[i].Health; h != nil {
			short(&h.Message)
		}
	}
	if s.OperationState != nil && s.OperationState.SyncResult != nil {
		for i := range s.OperationState.SyncResult.Resources {
			short(&s.OperationState.SyncResult.Resources[i].Message)
		}
	}
	return cut
}

// size returns the size of a value as JSON, in bytes.
func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and booleans always encode
	}
	return len(data)
}
