package feedback

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Observation is a cluster's report on one Application.
type Observation struct {
	// Status has the reported and valid values; a zero field was not reported or not valid. Status has at most one
	// resource, with the health Degraded.
	Status argocd.Status

	// UID is the UID of the Application on its cluster. Version is its resourceVersion; empty without VolatileRule.
	UID, Version string

	// ReadAt is when the agent read a changed value, by its own clock. ReadAt is zero if the agent does not report the
	// time. Before v1.2.0, agents reported only the time of the first report.
	ReadAt metav1.Time

	// Taken is the hub's identity of the operation in Status; empty for an operation from a different source. Pending
	// is the identity of the waiting or running operation.
	Taken, Pending string

	// RefreshRequest is the identity of the last requested refresh. RefreshPending is true while the cluster's Argo CD
	// has not answered the refresh. Both are empty without VolatileRule.
	RefreshRequest string
	RefreshPending bool

	// Starting is true while an automated sync waits to begin; only with VolatileRule.
	Starting bool

	// Detailed is true if DetailRule has values to report: the Application has a condition, or is Degraded.
	Detailed bool

	// TellsCompared is true if the agent has evaluated ConditionRules for the reported version. ComparedSince is a time
	// not later than the comparison by the cluster's Argo CD. ComparedSince is empty until the first comparison, and
	// after an operation until the next comparison.
	TellsCompared bool
	ComparedSince string

	// Edit is the mark of an edit of the Application on the cluster. Each edit after a repair has a new mark. Edit is
	// empty while the work agent owns all fields set by the work, and for an agent without an answer to ConditionRules.
	Edit string

	// Hydrating is true while the cluster's Argo CD hydrates the Application, including a retry after a failure.
	Hydrating bool

	// Complete is true if the agent could evaluate every rule, and every reported value is valid. Then a value missing
	// in Status is also missing on the cluster, except reconciledAt, which is not always requested. Without Complete,
	// a missing value is unknown. The agent's condition alone is not sufficient, because the condition may be about
	// the rules of an older controller. Every Application has a UID. Therefore a reported UID proves that the agent
	// evaluated these rules on an existing Application.
	Complete bool

	// Rejected are the names of the rules with an invalid value, sorted; for logs and metrics.
	Rejected []string
}

// Empty returns whether the cluster has not reported any status of the Application.
func (o *Observation) Empty() bool {
	s := &o.Status
	return s.Health.Status == "" && s.Sync == nil && s.OperationState == nil && s.ReconciledAt == "" &&
		len(s.Conditions) == 0
}

// Parse reads the report on the Application id from a work's status. Reports on other resources of the work are
// ignored. An agent reports each value once: of several values with the same name, the first counts.
func Parse(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) Observation {
	manifest := Manifest(status, id)
	if manifest == nil {
		return Observation{}
	}
	var p parsed
	var rejected []string
	taken := make([]bool, len(known))
	for _, v := range manifest.StatusFeedbacks.Values {
		place, ok := byName[v.Name]
		if !ok || taken[place] {
			continue
		}
		taken[place] = true
		if !known[place].take(&p, value(v.Value)) {
			rejected = append(rejected, v.Name)
		}
	}
	slices.Sort(rejected)
	out := Observation{
		UID:            p.uid,
		Version:        p.version,
		Taken:          p.taken,
		Pending:        p.pending,
		RefreshRequest: p.refreshRequest,
		RefreshPending: p.refreshPending,
		Starting:       p.starting,
		Hydrating:      p.hydration == hydrating,
		Detailed:       p.first.Type != "" || p.status.Health.Status == "Degraded",
		Status:         p.assemble(),
		Complete:       p.uid != "" && len(rejected) == 0 && evaluated(manifest.Conditions),
		Rejected:       rejected,
	}
	out.TellsCompared, out.ComparedSince = p.compared(manifest.Conditions)
	out.Edit = p.edit(manifest.Conditions)
	if c := meta.FindStatusCondition(manifest.Conditions, ConditionSynced); c != nil {
		out.ReadAt = c.LastTransitionTime
	}
	return out
}

// Manifest returns the part of a work's status about the resource id; nil for none.
func Manifest(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier) *workv1.ManifestCondition {
	for i := range status.ResourceStatus.Manifests {
		m := &status.ResourceStatus.Manifests[i]
		if m.ResourceMeta.Group == id.Group && m.ResourceMeta.Resource == id.Resource &&
			m.ResourceMeta.Namespace == id.Namespace && m.ResourceMeta.Name == id.Name {
			return m
		}
	}
	return nil
}

// assemble drops parts that are invalid alone in Argo CD's schema: a revision without a sync status, an operation
// without phase or start. An operation that never began is dropped too.
func (p *parsed) assemble() argocd.Status {
	s := p.status
	if p.sync.Status != "" {
		s.Sync = &p.sync
	}
	if p.operation.Phase != "" && p.operation.StartedAt != "" && p.operation.StartedAt != argocd.NeverBegan {
		s.OperationState = &p.operation
		if p.result.Revision != "" || len(p.result.Revisions) > 0 {
			s.OperationState.SyncResult = &p.result
		}
		if p.by != (argocd.Initiator{}) {
			s.OperationState.Operation.InitiatedBy = &p.by
		}
	}
	if d := p.degraded; d.Kind != "" && d.Name != "" {
		d.Health = &argocd.Health{Status: "Degraded", Message: p.degradedMessage}
		s.Resources = []argocd.ResourceStatus{d}
	}
	isFirst := func(c argocd.Condition) bool { return c.Type == p.first.Type }
	if slices.Contains(ConditionTypes, p.first.Type) && !slices.ContainsFunc(s.Conditions, isFirst) {
		s.Conditions = append(s.Conditions, p.first)
	}
	s.Conditions = append(s.Conditions, p.hydrationError()...)
	slices.SortFunc(s.Conditions, func(a, b argocd.Condition) int { return strings.Compare(a.Type, b.Type) })
	return s
}

// WorkCondition returns the work agent's condition about the apply, or the existence, of the resource id. The condition
// of the manifest, with the cause, takes precedence over the condition of the whole work. The result is nil without a
// report from the agent.
func WorkCondition(status *workv1.ManifestWorkStatus, id workv1.ResourceIdentifier, conditionType string) *metav1.Condition {
	m := Manifest(status, id)
	if m == nil {
		m = unmapped(status, id)
	}
	if m != nil {
		if c := meta.FindStatusCondition(m.Conditions, conditionType); c != nil {
			return c
		}
	}
	return meta.FindStatusCondition(status.Conditions, conditionType)
}

// Text returns the values of a work's status with these names, unchecked, as one string. Use Text only to detect
// changes.
func Text(status *workv1.ManifestWorkStatus, names ...string) string {
	var b strings.Builder
	for i := range status.ResourceStatus.Manifests {
		for _, v := range status.ResourceStatus.Manifests[i].StatusFeedbacks.Values {
			if v.Value.String != nil && slices.Contains(names, v.Name) {
				b.WriteString(v.Name + "=" + *v.Value.String + "\n")
			}
		}
	}
	return b.String()
}
