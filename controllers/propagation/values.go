package propagation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// checkValues is the problem with an annotation by which people decide for an Application and that says none of what it
// can say; nil when there is none. It may stand for the wish to keep what runs, so nothing is done until it is mended.
func checkValues(app *argocd.Application) *Problem {
	for _, words := range []struct {
		annotation string
		allowed    []string
	}{
		{apis.AnnotationAdopt, []string{"", apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways}},
		{apis.AnnotationMoveOrder, []string{"", apis.MoveNewFirst, apis.MoveOldFirst}},
	} {
		if !slices.Contains(words.allowed, app.Annotations[words.annotation]) {
			return problemf(apis.ReasonAnnotationInvalid, "%s: nothing is sent until it is",
				misread(app, words.annotation, words.allowed[1:]...))
		}
	}
	if argocd.Unreadable(app.Annotations, apis.AnnotationRelease) {
		return problemf(apis.ReasonAnnotationInvalid, "%s: nothing is sent or let go of until it is",
			misread(app, apis.AnnotationRelease, "true", "false"))
	}
	return nil
}

// misread says that an annotation has none of the values that it can have.
func misread(app *argocd.Application, annotation string, allowed ...string) string {
	return fmt.Sprintf("annotation %s: %.80q is none of %s, and is to be corrected",
		annotation, app.Annotations[annotation], strings.Join(allowed, ", "))
}

// end takes an Application that is being deleted off its cluster, unless it cannot be read whether the cluster is to keep
// all. An annotation that should hurry that and cannot be read is told of where the cluster is waited for.
func (r *Reconciler) end(ctx context.Context, app *argocd.Application) error {
	if app.Cascades() && argocd.Unreadable(app.Annotations, apis.AnnotationRelease) {
		return noticef(apis.ConditionDeletionWarning, apis.ReasonDeleting, "being deleted since %s: %s: until then the cluster keeps all",
			app.DeletionTimestamp.UTC().Format(time.RFC3339), misread(app, apis.AnnotationRelease, "true", "false"))
	}
	err := r.finalize(ctx, app)
	if p, is := errors.AsType[*Problem](err); is && p.notice() && argocd.Unreadable(app.Annotations, apis.AnnotationForceDelete) {
		p.Message += "; nothing is forced: " + misread(app, apis.AnnotationForceDelete, "true", "false")
	}
	return err
}
