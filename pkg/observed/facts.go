package observed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Facts are the known facts about an Application on its cluster.
type Facts struct {
	// Source is the name of the observing source. Merged facts have the name of the richest source.
	Source string

	// Origin is the source of each part. Combine sets the field.
	Origin Origin

	// UID and Version are the UID and the resourceVersion of the observed Application; empty if the source cannot
	// tell the values, or was not asked.
	UID, Version string

	// ObservedAt is the time of the observation; zero if the source cannot tell the time, or if the time is not to be
	// shown.
	ObservedAt metav1.Time

	// ReadAt is the time of the source's last reading, by a clock of the cluster; zero if the source cannot tell the
	// time. Without a Version, ReadAt decides which of two sources is newer.
	ReadAt metav1.Time

	// StaleSince is the time since when the source of the resources cannot be asked; zero while the source answers,
	// or has failed only for a short time.
	StaleSince metav1.Time

	// NotComparedSince is the time of the last comparison by the cluster's Argo CD, if the comparison is overdue;
	// zero otherwise. For an Application never compared, NotComparedSince is the creation time.
	NotComparedSince metav1.Time

	// Status is the observed status. The zero value of a field means that the source does not know the field.
	Status argocd.Status

	// Complete is true if a field missing in Status is also missing on the cluster, for all fields that the source
	// can report.
	Complete bool

	// Compared is true if Status has the time of the cluster's last known comparison. No source must report every
	// comparison, and a source without the feedback rule may know only an earlier comparison.
	Compared bool

	// Uncompared is the end of the last operation, if a source reports no comparison since; empty otherwise.
	Uncompared string

	// ConditionsComplete is true if a condition missing in Status is also missing on the cluster. Complete implies
	// ConditionsComplete.
	ConditionsComplete bool

	// Hydrating is true while the cluster's Argo CD hydrates the Application. Meanwhile, the source does not report
	// an earlier failure, and the condition HydrationError stays.
	Hydrating bool

	// Detailed is true if Status has all resources and the summary: an empty list then means no resources. Otherwise
	// the list has only the resources known to the source.
	Detailed bool
}
