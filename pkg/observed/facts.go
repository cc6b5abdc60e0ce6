package observed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Facts are what is known of one Application on its cluster.
type Facts struct {
	// Source is the name of the source that observed them; of facts of several sources, the richest one's.
	Source string

	// Origin is the source of each part. Combine sets it.
	Origin Origin

	// UID is that of the cluster's Application that was observed, and Version its resourceVersion; empty when the
	// source cannot tell, or is not asked to.
	UID, Version string

	// ObservedAt is when it was observed; zero when the source cannot tell, or when that is not to be shown.
	ObservedAt metav1.Time

	// ReadAt is when the source read, by a clock of the cluster, what it has last told of; zero when it cannot tell. Where
	// a source has no Version, it says which of two is the newer one.
	ReadAt metav1.Time

	// StaleSince is since when the source that knows the resources cannot be asked; zero while it can, or has not failed for
	// long.
	StaleSince metav1.Time

	// NotComparedSince is when the cluster's Argo CD last compared the Application, or when that was created and never compared,
	// where that is longer ago than it should be; zero otherwise.
	NotComparedSince metav1.Time

	// Status is what was observed. The zero value of a field means that the source does not know.
	Status argocd.Status

	// Complete is set when what Status lacks is not there on the cluster either, for the fields that the source
	// can tell of.
	Complete bool

	// Compared is set when Status says when the cluster last compared, as far as that is known now: no source has to tell of
	// every comparison, and one that is not asked may know of an earlier one only.
	Compared bool

	// Uncompared is when the last operation ended, where a source says that the cluster has not compared since; empty otherwise.
	Uncompared string

	// ConditionsComplete is set when what Status lacks of conditions is not there on the cluster either. Complete
	// says so too.
	ConditionsComplete bool

	// Hydrating is set while the cluster's Argo CD hydrates the Application: whether that failed before is not told meanwhile, and
	// HydrationError stays as it is.
	Hydrating bool

	// Detailed is set when Status holds the resources and the summary, and their absence means that there are
	// none. Otherwise the resources are some of which something is known.
	Detailed bool
}
