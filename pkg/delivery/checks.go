package delivery

import (
	"github.com/towline-io/towline/pkg/apis"
)

// Abbreviations for the tables.
const (
	problem   = apis.ConditionPropagationError
	forbidden = apis.ConditionPropagationForbiddenError
	paused    = apis.ConditionPausedWarning
	releasing = apis.ConditionReleaseWarning
	moving    = apis.ConditionMoveWarning
	deleting  = apis.ConditionDeletionWarning
)

type intents = []Intent

// checks are all checks of an Application, in order: a pause, the Application's own settings, the cluster, the
// rights, and the existing objects at the target. No check writes. The lists of steps follow the checks.
var checks = []*Gate{
	{Name: "paused", Type: paused, Reason: apis.ReasonPaused, Holds: intents{Deliver, Release, End, HandBack}, check: checkPaused},
	{Name: "release undecided", Type: deleting, Reason: apis.ReasonDeleting, Holds: intents{End}, check: checkReleaseUndecided},

	{Name: "cluster named", Type: problem, Reason: apis.ReasonClusterAnnotationMissing, Holds: intents{Deliver}, check: ofApplication(noCluster)},
	{Name: "cluster name", Type: problem, Reason: apis.ReasonClusterNameInvalid, Holds: intents{Deliver}, check: ofApplication(badCluster)},
	{Name: "namespace", Type: problem, Reason: apis.ReasonNamespaceInvalid, Holds: intents{Deliver}, check: ofApplication(badNamespace)},
	{Name: "reconcile skipped", Type: problem, Reason: apis.ReasonSkipReconcileMissing, Holds: intents{Deliver}, check: ofApplication(notSkipped)},
	{Name: "annotations", Type: problem, Reason: apis.ReasonAnnotationInvalid, Holds: intents{Deliver}, check: ofApplication(badAnnotation)},
	{Name: "cluster exists", Type: problem, Reason: apis.ReasonClusterNotFound, Holds: intents{Deliver}, check: checkClusterExists},
	{Name: "cluster stays", Type: problem, Reason: apis.ReasonClusterDeleting, Holds: intents{Deliver}, check: checkClusterStays},
	{Name: "cluster accepted", Type: problem, Reason: apis.ReasonClusterNotAccepted, Holds: intents{Deliver}, check: checkClusterAccepted},
	{Name: "own copy", Type: problem, Reason: apis.ReasonLocalClusterConflict, Holds: intents{Deliver}, check: checkOwnCopy},
	{Name: "spec", Type: problem, Reason: apis.ReasonSpecInvalid, Holds: intents{Deliver}, check: checkSpec},
	{Name: "sources", Type: problem, Reason: apis.ReasonSourceUnsupported, Holds: intents{Deliver}, check: checkSources},
	{Name: "grant", Type: forbidden, Holds: intents{Deliver}, check: checkGrant},
	{Name: "claimants", Type: problem, Reason: apis.ReasonTargetConflict, Holds: intents{Deliver}, Backoff: true, check: checkClaimants},
	{Name: "target free", Type: problem, Reason: apis.ReasonTargetConflict, Holds: intents{Deliver}, Backoff: true, check: checkTargetFree},
	{Name: "hub copy", Type: problem, Reason: apis.ReasonLocalClusterConflict, Holds: intents{Deliver}, Backoff: true, check: checkHubCopy},
	{Name: "executor", Type: problem, Reason: apis.ReasonExecutorInvalid, Holds: intents{Deliver}, check: checkExecutor},
	{Name: "own work", Type: problem, Reason: apis.ReasonWorkConflict, Holds: intents{Deliver}, Backoff: true, check: checkOwnWork},
	{Name: "another's work", Type: problem, Reason: apis.ReasonWorkConflict, Holds: intents{Deliver}, check: checkOthersWork},
	{Name: "hub operation", Type: problem, Reason: apis.ReasonHubOperationRunning, Holds: intents{Deliver}, check: checkHubOperation},
	{Name: "destination", Type: problem, Reason: apis.ReasonDestinationConflict, Holds: intents{Deliver}, check: checkDestination},
}
