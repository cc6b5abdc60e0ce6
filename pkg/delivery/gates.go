package delivery

import "github.com/towline-io/towline/pkg/apis"

// Short forms for the table.
const (
	problem   = apis.ConditionPropagationError
	forbidden = apis.ConditionPropagationForbiddenError
	paused    = apis.ConditionPausedWarning
	releasing = apis.ConditionReleaseWarning
	moving    = apis.ConditionMoveWarning
	deleting  = apis.ConditionDeletionWarning
)

// Gates are all reasons to wait, in the order in which they are asked.
var Gates []Gate

type intents = []Intent

func init() { // the gates of one intent ask those of another
	Gates = []Gate{
		{"paused", paused, apis.ReasonPaused, intents{Deliver, Release, End, HandBack}, ByEvent, askPaused},
		{"cluster paused", paused, apis.ReasonPaused, intents{Remove, Drop, Keep}, ByEvent, askClusterPaused},
		{"release paused", paused, apis.ReasonPaused, intents{Leave}, ByEvent, askReleasePaused},
		{"release undecided", deleting, apis.ReasonDeleting, intents{End}, ByEvent, askReleaseUndecided},

		{"cluster named", problem, apis.ReasonClusterAnnotationMissing, intents{Deliver}, ByEvent, ofApplication(noCluster)},
		{"cluster name", problem, apis.ReasonClusterNameInvalid, intents{Deliver}, ByEvent, ofApplication(badCluster)},
		{"namespace", problem, apis.ReasonNamespaceInvalid, intents{Deliver}, ByEvent, ofApplication(badNamespace)},
		{"reconcile skipped", problem, apis.ReasonSkipReconcileMissing, intents{Deliver}, ByEvent, ofApplication(notSkipped)},
		{"annotations", problem, apis.ReasonAnnotationInvalid, intents{Deliver}, ByEvent, ofApplication(badAnnotation)},
		{"cluster exists", problem, apis.ReasonClusterNotFound, intents{Deliver}, ByEvent, askClusterExists},
		{"cluster stays", problem, apis.ReasonClusterDeleting, intents{Deliver}, ByEvent, askClusterStays},
		{"cluster accepted", problem, apis.ReasonClusterNotAccepted, intents{Deliver}, ByEvent, askClusterAccepted},
		{"own copy", problem, apis.ReasonLocalClusterConflict, intents{Deliver}, ByEvent, askOwnCopy},
		{"spec", problem, apis.ReasonSpecInvalid, intents{Deliver}, ByEvent, askSpec},
		{"grant", forbidden, "", intents{Deliver}, ByEvent, askGrant},
		{"claimants", problem, apis.ReasonTargetConflict, intents{Deliver}, ByBackoff, askClaimants},
		{"target free", problem, apis.ReasonTargetConflict, intents{Deliver}, ByBackoff, askTargetFree},
		{"hub copy", problem, apis.ReasonLocalClusterConflict, intents{Deliver}, ByBackoff, askHubCopy},
		{"executor", problem, apis.ReasonExecutorInvalid, intents{Deliver}, ByEvent, askExecutor},
		{"own work", problem, apis.ReasonWorkConflict, intents{Deliver}, ByBackoff, askOwnWork},
		{"another's work", problem, apis.ReasonWorkConflict, intents{Deliver}, ByEvent, askOthersWork},
		{"predecessor", moving, apis.ReasonMoving, intents{Deliver}, ByEvent, askPredecessor},
		{"rehearsal", problem, "", intents{Deliver}, ByBackoff, askRehearsal},
		{"new cluster", moving, apis.ReasonMoving, intents{Deliver}, ByEvent, askNewCluster},
		{"old cluster", moving, apis.ReasonMoving, intents{Deliver}, ByEvent, askOldCluster},
		{"return", forbidden, "", intents{Deliver}, ByEvent, askReturn},
		{"relocation", moving, apis.ReasonMoving, intents{Deliver}, ByEvent, askRelocation},

		// They are met while the work is written, and beside it.
		{"operation grant", forbidden, "", intents{Deliver}, ByEvent, nil},
		{"operation", problem, apis.ReasonOperationInvalid, intents{Deliver}, ByEvent, nil},
		{"payload", problem, apis.ReasonPayloadTooLarge, intents{Deliver, Remove, Leave}, ByEvent, nil},
		{"write", problem, apis.ReasonWorkRejected, intents{Deliver}, ByBackoff, nil},
		{"adoption", problem, apis.ReasonAdoptionRefused, intents{Deliver}, ByEvent, nil},
		{"move", moving, apis.ReasonMoving, intents{Deliver}, ByEvent, nil},
		{"release", releasing, apis.ReasonReleasing, intents{Release, Disown, HandBack, End}, ByEvent, nil},
		{"released", releasing, "", intents{Release, Disown}, ByEvent, nil},
		{"deletion", deleting, apis.ReasonDeleting, intents{End, HandBack}, ByEvent, nil},

		// Works that go.
		{"grant missing", forbidden, "", intents{Missing}, ByEvent, askMissing},
		{"too many revocations", forbidden, apis.ReasonRevocationHeld, intents{Refused}, ByEvent, askTooMany},
		{"grace", forbidden, "", intents{Refused}, ByTime, askGrace},
		{"revocation", forbidden, "", intents{Revoke}, ByEvent, nil},
		{"running operation", "", "", intents{Remove}, ByEvent, askOperation},
		{"finalizers", "", "", intents{Remove, Revoke}, ByEvent, askFinalizers},
		{"held beside", "", "", intents{Remove, Revoke, Drop}, ByEvent, askBeside},

		// Works that are released.
		{"return of a request", forbidden, "", intents{Leave}, ByEvent, askReturned},
		{"preparation", "", "", intents{Leave}, ByEvent, askPrepared},
		{"dependencies", "", "", intents{Leave}, ByEvent, askDependencies},

		// Works whose Application is gone.
		{"loss", "", "", intents{Orphan}, ByTime, askLoss},
	}
}
