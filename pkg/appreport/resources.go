package appreport

import (
	"crypto/sha256"
	"math"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxID is the largest integer that every JSON reader keeps exact.
const maxID = 1<<53 - 1

// resource validates a resource, and returns false without a kind or a name.
func (c *checker) resource(r *argocd.ResourceStatus) bool {
	c.name(fieldResources, &r.Group, &r.Version, &r.Kind, &r.Namespace, &r.Name)
	c.oneOf(fieldResources, &r.Status, argocd.SyncCodes)
	c.number(fieldResources, &r.SyncWave, math.MinInt32, math.MaxInt32)
	if r.Health != nil {
		c.health(fieldResources, r.Health)
		if *r.Health == (argocd.Health{}) {
			r.Health = nil
		}
	}
	return r.Kind != "" && r.Name != ""
}

func (c *checker) result(r *argocd.ResourceResult) bool {
	c.name(fieldResults, &r.Group, &r.Version, &r.Kind, &r.Namespace, &r.Name)
	c.oneOf(fieldResults, &r.Status, argocd.ResultCodes)
	c.oneOf(fieldResults, &r.HookType, argocd.HookTypes)
	c.oneOf(fieldResults, &r.HookPhase, argocd.OperationPhases)
	c.oneOf(fieldResults, &r.SyncPhase, argocd.HookTypes)
	message(&r.Message)
	return r.Kind != "" && r.Name != ""
}

// name validates the parts of a resource's identity.
func (c *checker) name(field string, group, version, kind, namespace, name *string) {
	c.line(field, group, maxGroup)
	c.line(field, version, maxKind)
	c.line(field, kind, maxKind)
	c.line(field, namespace, maxGroup)
	c.line(field, name, maxGroup)
}

func (c *checker) summary(s *argocd.Summary) *argocd.Summary {
	if s == nil {
		return nil
	}
	s.ExternalURLs = each(s.ExternalURLs, func(u *string) { c.webAddress(fieldSummary, u) })
	s.Images = each(s.Images, func(i *string) { c.line(fieldSummary, i, maxAddress) })
	if len(s.ExternalURLs) == 0 && len(s.Images) == 0 {
		return nil
	}
	return s
}

// deployment validates an entry of the history, and returns whether the entry has the time required by the schema.
func (c *checker) deployment(d *argocd.Deployment) bool {
	c.number(fieldHistory, &d.ID, 0, maxID)
	c.revision(fieldHistory, &d.Revision)
	d.Revisions = c.revisions(fieldHistory, d.Revisions)
	c.time(fieldHistory, &d.DeployStartedAt)
	c.time(fieldHistory, &d.DeployedAt)
	d.InitiatedBy = c.initiator(fieldHistory, d.InitiatedBy)
	if d.Source != nil && !c.source(d.Source) {
		d.Source = nil
	}
	if len(d.Sources) > maxSources {
		d.Sources = d.Sources[:maxSources]
		c.reject(fieldHistory)
	}
	d.Sources = kept(d.Sources, c.source)
	return d.DeployedAt != ""
}

func (c *checker) source(s *argocd.Source) bool {
	c.line(fieldHistory, &s.RepoURL, maxAddress)
	c.line(fieldHistory, &s.Path, maxAddress)
	c.line(fieldHistory, &s.TargetRevision, feedback.MaxWord)
	c.line(fieldHistory, &s.Chart, feedback.MaxWord)
	c.line(fieldHistory, &s.Ref, feedback.MaxWord)
	c.line(fieldHistory, &s.Digest, sha256.Size*2)
	s.Whole = "" // the hub accepts only a digest
	return s.RepoURL != ""
}
