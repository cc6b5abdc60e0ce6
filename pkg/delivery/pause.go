package delivery

import (
	"cmp"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

func pausedBy(by string) string {
	return "paused by the annotation " + apis.AnnotationPaused + " on " + by
}

func pausedBecause(by, what string) answer {
	return because("%s: %s, and what the cluster reports is still shown", pausedBy(by), what)
}

// askPaused is for an Application for which no work is written now. Nobody waits for the answer to a refresh meanwhile:
// there is none.
func askPaused(d *decision, _ question) answer {
	by := cmp.Or(d.Paused, d.target().Paused)
	switch {
	case by == "":
		return open
	case d.App.Refresh() != "" && !d.App.SpecChanged():
		d.dropRefresh("the requested refresh was dropped: " + pausedBy(by))
	}
	if !d.App.DeletionTimestamp.IsZero() {
		return pausedBecause(by, "its deletion waits")
	}
	return pausedBecause(by, "changes on the hub wait")
}

// askClusterPaused is for a work that is not to be written, because its cluster is paused. The end of the pause wakes the
// Applications of all works there.
func askClusterPaused(d *decision, q question) answer {
	by := d.Clusters[q.work.Namespace].Paused
	if by == "" {
		return open
	}
	return pausedBecause(by, "removals from there wait")
}

// askReleasePaused is for a work that is to be released while its Application, or the cluster, is paused. The end of the pause
// wakes the Application, be it without the label or a cluster: it is found by the works that it has.
func askReleasePaused(d *decision, q question) answer {
	by := cmp.Or(d.Paused, d.Clusters[q.work.Namespace].Paused)
	if by == "" {
		return open
	}
	return pausedBecause(by, "its release waits")
}

// askReleaseUndecided is for an Application that is being deleted and of which cannot be read whether the cluster is to keep
// all.
func askReleaseUndecided(d *decision, _ question) answer {
	if !d.App.Cascades() || !unreadable(d.App, apis.AnnotationRelease) {
		return open
	}
	return because("being deleted since %s: %s. Until then the cluster keeps everything",
		d.App.DeletionTimestamp.UTC().Format(time.RFC3339), misread(d.App, apis.AnnotationRelease, "true", "false"))
}
