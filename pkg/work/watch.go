package work

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// WatchPlace returns the name of the place of an Application: "<cluster>/<namespace>". A place has all Applications of
// a namespace of a cluster. The work agent needs a single work with feedbackScrapeType Watch to watch a whole place:
// the agent (v1.2.0, pkg/work/spoke/objectreader) then reports a change of each Application of the place, whichever
// work brought the Application.
//
// Each further work with Watch costs: the agent reads all Applications of the place once more, and repeats each report,
// often with the answer 409. With 150 Applications, the delivery costs an agent 16.5 s of CPU if each work has Watch,
// and 3.5 s if a single work has Watch.
func WatchPlace(app *argocd.Application) string {
	return placeOf(app.Cluster(), app.ClusterNamespace())
}

func placeOf(cluster, namespace string) string { return cluster + "/" + namespace }

// Watches returns the place that the work agent watches because of this work; empty for none. A work in deletion does
// not count, nor does a work whose Application does not exist on the cluster, because the agent then registers no
// watch. A work without a report counts: the agent is about to register the watch.
func Watches(w *workv1.ManifestWork) string {
	c := configOf(w)
	if w.DeletionTimestamp != nil || c.FeedbackScrapeType != workv1.FeedbackWatchType || ReportOf(w).foundNow(metav1.ConditionFalse) {
		return ""
	}
	return placeOf(w.Namespace, c.ResourceIdentifier.Namespace)
}

// Polled reports whether a work leaves the watch to another work.
func Polled(w *workv1.ManifestWork) bool {
	return configOf(w).FeedbackScrapeType == workv1.FeedbackPollType
}

// Watched reports whether a work other than own lets the agent watch the place of own. watching are the works that
// watch the place. If several works watch the place, the work with the last name remains: see unwatched of propagation. name is the name of own; own
// is nil for a work that does not exist yet.
func Watched(name string, own *workv1.ManifestWork, watching []*workv1.ManifestWork) bool {
	watches := own != nil && Watches(own) != ""
	for _, w := range watching {
		if w.Name != name && (!watches || w.Name > name) {
			return true
		}
	}
	return false
}
