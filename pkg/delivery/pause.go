package delivery

import (
	"cmp"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

func pausedBy(by string) string {
	return "paused by the annotation " + apis.AnnotationPaused + " on " + by
}

func pausedBecause(by, what string) block {
	return blockf("%s: %s, and the hub still shows the reports of the cluster", pausedBy(by), what)
}

// pausedAt returns the name of the object that pauses the Application or its target cluster; empty for none.
func (v *view) pausedAt() string { return cmp.Or(v.Paused, v.target().Paused) }

// checkPaused blocks all writes of works for a paused Application.
func checkPaused(v *view) block {
	by := v.pausedAt()
	switch {
	case by == "":
		return pass
	case !v.App.DeletionTimestamp.IsZero():
		return pausedBecause(by, "the deletion waits")
	}
	return pausedBecause(by, "changes on the hub wait")
}

// clusterPaused blocks the write of a work on a paused cluster. The end of the pause wakes the Applications of all
// works on the cluster.
var clusterPaused = &Gate{Name: "cluster paused", Type: paused, Reason: apis.ReasonPaused, step: func(v *view, s *subject) block {
	by := v.Clusters[s.Namespace].Paused
	if by == "" {
		return done
	}
	return pausedBecause(by, "removals from the cluster wait")
}}

// waitForRelease blocks a release while the Application or the cluster is paused. The end of the pause wakes the
// Application, even without a label or a cluster: the controller finds the Application by its works.
func waitForRelease(v *view, s *subject) block {
	by := cmp.Or(v.Paused, v.Clusters[s.Namespace].Paused)
	if by == "" {
		return done
	}
	return pausedBecause(by, "the release waits")
}

// checkReleaseUndecided blocks the deletion of an Application with an unreadable annotation release. The author may
// want the cluster to keep everything.
func checkReleaseUndecided(v *view) block {
	if !v.App.Cascades() || !unreadable(v.App, apis.AnnotationRelease) {
		return pass
	}
	return blockf("being deleted since %s: %s. Until the correction, the cluster keeps everything",
		v.App.DeletionTimestamp.UTC().Format(time.RFC3339), misread(v.App, apis.AnnotationRelease, "true", "false"))
}
