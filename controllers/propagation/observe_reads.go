package propagation

import (
	"context"
	"slices"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/source"
)

// observeReads reads which repositories of the history the AppProject does not permit any more, although the own work lets
// the cluster read the repositories for an operation. Without the right to the spec, no repository of the work stays open
// anyway: see delivery.
func (seen *observation) observeReads(ctx context.Context) error {
	seen.ReadsRefused = nil
	cluster := seen.clusters[seen.App.Cluster()]
	if seen.Own == nil || seen.Refused != nil || cluster == nil {
		return nil
	}
	names := source.ReadNames(seen.Own.Annotations[apis.AnnotationSources])
	if len(names) == 0 {
		return nil
	}
	request, err := authorization.ReadSpec(seen.App)
	if err != nil {
		return nil //nolint:nilerr // observeTarget has noted the fault
	}
	ofSpec := request.Sources
	for _, repo := range source.KnownOf(seen.App) {
		if slices.Contains(ofSpec, repo) || !slices.Contains(names, source.Name(seen.App.Project(), repo)) {
			continue
		}
		request.Sources = []string{repo}
		refusal, err := seen.grants.Check(ctx, seen.App, request, cluster)
		if err != nil {
			return err
		}
		if refusal != nil {
			seen.ReadsRefused = append(seen.ReadsRefused, repo)
		}
	}
	return nil
}
