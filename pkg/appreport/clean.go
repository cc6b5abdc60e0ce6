package appreport

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

// maxSources is the maximum number of an Application's sources, as in the schema of ApplicationReport.
const maxSources = 64

// clean validates every value of a status. If Argo CD's schema requires a removed value, the object around the value is
// removed too.
func clean(s *argocd.Status) *checker {
	c := &checker{}
	c.health(fieldHealth, &s.Health)
	if s.Sync = c.sync(s.Sync); s.Sync != nil {
		s.Sync.Revisions = c.revisions(fieldSync, s.Sync.Revisions)
	}
	s.OperationState = c.operation(s.OperationState)
	c.time(fieldReconciled, &s.ReconciledAt)
	s.Conditions = kept(s.Conditions, c.condition)
	s.Resources = kept(s.Resources, c.resource)
	s.Summary = c.summary(s.Summary)
	s.History = kept(s.History, c.deployment)
	s.Pushed = false
	c.oneOf(fieldSourceType, &s.SourceType, argocd.SourceTypes)
	if len(s.SourceTypes) > maxSources {
		s.SourceTypes = s.SourceTypes[:maxSources]
		c.reject(fieldSourceType)
	}
	for i := range s.SourceTypes {
		c.oneOf(fieldSourceType, &s.SourceTypes[i], argocd.SourceTypes)
	}
	return c
}

func (c *checker) health(field string, h *argocd.Health) {
	c.oneOf(field, &h.Status, argocd.HealthCodes)
	message(&h.Message)
	c.time(field, &h.LastTransitionTime)
}

func (c *checker) sync(s *argocd.Sync) *argocd.Sync {
	if s == nil {
		return nil
	}
	c.oneOf(fieldSync, &s.Status, argocd.SyncCodes)
	c.revision(fieldSync, &s.Revision)
	if s.Status == "" {
		return nil
	}
	return s
}

// revisions validates the revisions of several sources. An invalid revision becomes empty and keeps its place.
func (c *checker) revisions(field string, list []string) []string {
	if len(list) > maxSources {
		list = list[:maxSources]
		c.reject(field)
	}
	for i := range list {
		c.revision(field, &list[i])
	}
	return list
}

func (c *checker) operation(o *argocd.OperationState) *argocd.OperationState {
	if o == nil {
		return nil
	}
	c.oneOf(fieldOperation, &o.Phase, argocd.OperationPhases)
	message(&o.Message)
	c.time(fieldOperation, &o.StartedAt)
	c.time(fieldOperation, &o.FinishedAt)
	c.number(fieldOperation, &o.RetryCount, 0, math.MaxInt32)
	o.Operation.InitiatedBy = c.initiator(fieldOperation, o.Operation.InitiatedBy)
	o.Operation.Info = kept(o.Operation.Info, c.info)
	c.syncOperation(&o.Operation.Sync)
	if r := o.SyncResult; r != nil {
		c.revision(fieldOperation, &r.Revision)
		r.Revisions = c.revisions(fieldOperation, r.Revisions)
		r.Resources = kept(r.Resources, c.result)
	}
	if o.Phase == "" || o.StartedAt == "" || o.StartedAt == argocd.NeverBegan {
		return nil
	}
	return o
}

// info validates an entry of an operation's info list. The first entries count: later entries are dropped.
func (c *checker) info(i *argocd.Info) bool {
	c.line(fieldOperation, &i.Name, feedback.MaxWord)
	message(&i.Value)
	return i.Name != ""
}

func (c *checker) syncOperation(s *argocd.SyncOperation) {
	c.revision(fieldOperation, &s.Revision)
	s.Revisions = c.revisions(fieldOperation, s.Revisions)
	s.SyncOptions = each(s.SyncOptions, func(option *string) { c.line(fieldOperation, option, feedback.MaxWord) })
	s.Resources = kept(s.Resources, c.syncResource)
}

func (c *checker) syncResource(r *argocd.SyncResource) bool {
	c.line(fieldOperation, &r.Group, maxGroup)
	c.line(fieldOperation, &r.Kind, maxKind)
	c.line(fieldOperation, &r.Name, maxGroup)
	c.line(fieldOperation, &r.Namespace, maxGroup)
	return r.Kind != "" && r.Name != ""
}

func (c *checker) initiator(field string, by *argocd.Initiator) *argocd.Initiator {
	if by == nil {
		return nil
	}
	c.line(field, &by.Username, feedback.MaxWord)
	if *by == (argocd.Initiator{}) {
		return nil
	}
	return by
}

func (c *checker) condition(o *argocd.Condition) bool {
	c.line(fieldConditions, &o.Type, maxKind)
	message(&o.Message)
	if o.LastTransitionTime != nil {
		text := o.LastTransitionTime.UTC().Format(time.RFC3339)
		c.time(fieldConditions, &text)
		t, err := time.Parse(time.RFC3339, text)
		o.LastTransitionTime = nil
		if err == nil {
			o.LastTransitionTime = &metav1.Time{Time: t}
		}
	}
	return o.Type != ""
}

// kept returns the entries that are usable after a check.
func kept[T any](list []T, check func(*T) bool) []T {
	out := list[:0]
	for i := range list {
		if check(&list[i]) {
			out = append(out, list[i])
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
