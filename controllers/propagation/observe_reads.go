package propagation

import (
	"slices"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/source"
)

// judgeReads sets ReadsRefused to the repositories of the history that the AppProject does not permit any more, although
// the own work lets the cluster read the repositories for an operation. request is the request of the spec. Without the
// right to the spec, no repository of the work stays open anyway: see delivery.
func (seen *observation) judgeReads(rights grants.Rights, request authorization.Request) {
	if seen.Own == nil || seen.Refused != nil {
		return
	}
	names := source.ReadNames(seen.Own.Annotations[apis.AnnotationSources])
	if len(names) == 0 {
		return
	}
	ofSpec := request.Sources
	for _, repo := range source.KnownOf(seen.App) {
		if slices.Contains(ofSpec, repo) || !slices.Contains(names, source.Name(seen.App.Project(), repo)) {
			continue
		}
		request.Sources = []string{repo}
		if rights.Refusal(request) != nil {
			seen.ReadsRefused = append(seen.ReadsRefused, repo)
		}
	}
}
