package delivery

import (
	"cmp"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

func pausedBy(by string) string {
	return "paused by the annotation " + apis.AnnotationPaused + " on " + by
}

func pausedBecause(by, what string) verdict {
	return blockf("%s: %s, and what the cluster reports is still shown", pausedBy(by), what)
}

// pausedAt names what pauses the Application, or the cluster that it asks for; empty for nothing.
func (v *view) pausedAt() string { return cmp.Or(v.Paused, v.target().Paused) }

// checkPaused is for an Application for which no work is written now.
func checkPaused(v *view) verdict {
	by := v.pausedAt()
	switch {
	case by == "":
		return pass
	case !v.App.DeletionTimestamp.IsZero():
		return pausedBecause(by, "its deletion waits")
	}
	return pausedBecause(by, "changes on the hub wait")
}

// clusterPaused is for a work that is not to be written, because its cluster is paused. The end of the pause wakes the
// Applications of all works there.
var clusterPaused = &Gate{Name: "cluster paused", Type: paused, Reason: apis.ReasonPaused, step: func(v *view, s *subject) outcome {
	by := v.Clusters[s.Namespace].Paused
	if by == "" {
		return done
	}
	return outcome{verdict: pausedBecause(by, "removals from there wait")}
}}

// waitForRelease is for a work that is to be released while its Application, or the cluster, is paused. The end of the pause
// wakes the Application, be it without the label or a cluster: it is found by the works that it has.
func waitForRelease(v *view, s *subject) outcome {
	by := cmp.Or(v.Paused, v.Clusters[s.Namespace].Paused)
	if by == "" {
		return done
	}
	return outcome{verdict: pausedBecause(by, "its release waits")}
}

// checkReleaseUndecided is for an Application that is being deleted and of which cannot be read whether the cluster is to keep
// all.
func checkReleaseUndecided(v *view) verdict {
	if !v.App.Cascades() || !unreadable(v.App, apis.AnnotationRelease) {
		return pass
	}
	return blockf("being deleted since %s: %s. Until then the cluster keeps everything",
		v.App.DeletionTimestamp.UTC().Format(time.RFC3339), misread(v.App, apis.AnnotationRelease, "true", "false"))
}
