package feedback

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Observation is what a cluster reports of one Application.
type Observation struct {
	// Status holds what was reported and believed; the zero value of a field means that it was not. Of the resources it has
	// at most one that is Degraded.
	Status argocd.Status

	// UID is that of the Application on its cluster. Version is its resourceVersion; empty where VolatileRule does not ask.
	UID, Version string

	// ReadAt is when the agent read a value that was new, by its own clock; zero for an agent that does not tell (before
	// v1.2.0 it told of its first report only).
	ReadAt metav1.Time

	// Taken is the identity, as given by the hub, of the operation in Status; empty when the hub did not ask for
	// it. Pending is that of the operation which waits or runs.
	Taken, Pending string

	// RefreshRequest is the identity of the refresh that was asked for last, and RefreshPending is set while the
	// cluster's Argo CD has not answered it. Both are empty where VolatileRule does not ask.
	RefreshRequest string
	RefreshPending bool

	// Starting is set while an automated sync waits to begin; where VolatileRule asks.
	Starting bool

	// TellsCompared is set where the agent has evaluated ComparedRules for what it reports. ComparedSince is a time at or after which the
	// cluster's Argo CD has compared the Application; empty until it has, after an operation too.
	TellsCompared bool
	ComparedSince string

	// Edit is the mark of an edit of the Application on the cluster: another one for each edit after a repair. It is empty while the cluster
	// has all that the work sets.
	Edit string

	// Hydrating is set while the cluster's Argo CD hydrates the Application, also where it tries again what has failed.
	Hydrating bool

	// Complete is set when the agent could evaluate every rule: what Status does not have, the cluster's
	// Application does not have either, but for reconciledAt, which is not always asked for. When it is not set, what
	// is missing is simply not known. The agent's condition alone does not tell: it may be about the rules of an older
	// controller. Every Application has a UID, so one that was reported shows that these rules were evaluated, on an
	// Application that is there.
	Complete bool

	// Rejected are the names of the rules whose value did not fit, sorted; for logs and metrics.
	Rejected []string
}

// Empty tells whether the cluster has said nothing of the Application's status so far.
func (o *Observation) Empty() bool {
	s := &o.Status
	return s.Health.Status == "" && s.Sync == nil && s.OperationState == nil && s.ReconciledAt == "" &&
		len(s.Conditions) == 0
}

// Parse reads the report on the Application that id names from a work's status. Reports on anything else in the
// same work are passed over. An agent reports each value once: of several of a name the first counts.
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
		Status:         p.assemble(),
		Complete:       p.uid != "" && len(rejected) == 0 && evaluated(manifest.Conditions),
		Rejected:       rejected,
	}
	out.TellsCompared, out.ComparedSince = p.compared(manifest.Conditions)
	out.Edit = edit(manifest.Conditions)
	if c := meta.FindStatusCondition(manifest.Conditions, ConditionSynced); c != nil {
		out.ReadAt = c.LastTransitionTime
	}
	return out
}

// Manifest is the part of a work's status that speaks of the resource that id names; nil when there is none.
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

// assemble drops the parts that Argo CD's schema does not allow alone: a revision without a sync status, an
// operation without phase or start. An operation that never began is none.
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
	s.Conditions = append(s.Conditions, p.hydrationError()...)
	slices.SortFunc(s.Conditions, func(a, b argocd.Condition) int { return strings.Compare(a.Type, b.Type) })
	return s
}

// WorkCondition is the work agent's word on whether it could apply, or still finds, the resource that id names:
// the manifest's own condition of that type, which names the cause, before the whole work's. It is nil when the
// agent has not said.
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

// Text is what a work's status reports under these names, unchecked, joined into one string: good for telling
// whether anything changed, and for nothing else.
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
