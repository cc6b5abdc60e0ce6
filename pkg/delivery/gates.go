package delivery

import (
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/gate"
)

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
var Gates gate.Table[Intent, rule]

type intents = []Intent

func init() { // the gates of one intent ask those of another
	Gates = gate.Table[Intent, rule]{
		{Name: "paused", Type: paused, Reason: apis.ReasonPaused, Holds: intents{Deliver, Release, End, HandBack}, Ask: askPaused},
		{Name: "cluster paused", Type: paused, Reason: apis.ReasonPaused, Holds: intents{Remove, Drop, Keep}, Ask: askClusterPaused},
		{Name: "release paused", Type: paused, Reason: apis.ReasonPaused, Holds: intents{Leave}, Ask: askReleasePaused},
		{Name: "release undecided", Type: deleting, Reason: apis.ReasonDeleting, Holds: intents{End}, Ask: askReleaseUndecided},
		{Name: "outage", Type: deleting, Reason: apis.ReasonHeldInOutage, Holds: intents{End}, Ask: askOutage},

		{Name: "cluster named", Type: problem, Reason: apis.ReasonClusterAnnotationMissing, Holds: intents{Deliver}, Ask: ofApplication(noCluster)},
		{Name: "cluster name", Type: problem, Reason: apis.ReasonClusterNameInvalid, Holds: intents{Deliver}, Ask: ofApplication(badCluster)},
		{Name: "namespace", Type: problem, Reason: apis.ReasonNamespaceInvalid, Holds: intents{Deliver}, Ask: ofApplication(badNamespace)},
		{Name: "reconcile skipped", Type: problem, Reason: apis.ReasonSkipReconcileMissing, Holds: intents{Deliver}, Ask: ofApplication(notSkipped)},
		{Name: "annotations", Type: problem, Reason: apis.ReasonAnnotationInvalid, Holds: intents{Deliver}, Ask: ofApplication(badAnnotation)},
		{Name: "cluster exists", Type: problem, Reason: apis.ReasonClusterNotFound, Holds: intents{Deliver}, Ask: askClusterExists},
		{Name: "cluster stays", Type: problem, Reason: apis.ReasonClusterDeleting, Holds: intents{Deliver}, Ask: askClusterStays},
		{Name: "cluster accepted", Type: problem, Reason: apis.ReasonClusterNotAccepted, Holds: intents{Deliver}, Ask: askClusterAccepted},
		{Name: "own copy", Type: problem, Reason: apis.ReasonLocalClusterConflict, Holds: intents{Deliver}, Ask: askOwnCopy},
		{Name: "spec", Type: problem, Reason: apis.ReasonSpecInvalid, Holds: intents{Deliver}, Ask: askSpec},
		{Name: "grant", Type: forbidden, Holds: intents{Deliver}, Ask: askGrant},
		{Name: "claimants", Type: problem, Reason: apis.ReasonTargetConflict, Holds: intents{Deliver}, Ends: gate.ByBackoff, Ask: askClaimants},
		{Name: "target free", Type: problem, Reason: apis.ReasonTargetConflict, Holds: intents{Deliver}, Ends: gate.ByBackoff, Ask: askTargetFree},
		{Name: "hub copy", Type: problem, Reason: apis.ReasonLocalClusterConflict, Holds: intents{Deliver}, Ends: gate.ByBackoff, Ask: askHubCopy},
		{Name: "executor", Type: problem, Reason: apis.ReasonExecutorInvalid, Holds: intents{Deliver}, Ask: askExecutor},
		{Name: "own work", Type: problem, Reason: apis.ReasonWorkConflict, Holds: intents{Deliver}, Ends: gate.ByBackoff, Ask: askOwnWork},
		{Name: "another's work", Type: problem, Reason: apis.ReasonWorkConflict, Holds: intents{Deliver}, Ask: askOthersWork},
		{Name: "destination", Type: problem, Reason: apis.ReasonDestinationConflict, Holds: intents{Deliver}, Ask: askDestination},
		{Name: "disabled", Holds: intents{Deliver, Remove, Revoke, Leave}, Ask: askDisabled},
		{Name: "predecessor", Type: moving, Reason: apis.ReasonMoving, Holds: intents{Deliver}, Ask: askPredecessor},
		{Name: "rehearsal", Type: problem, Holds: intents{Deliver}, Ends: gate.ByBackoff, Ask: askRehearsal},
		{Name: "new cluster", Type: moving, Reason: apis.ReasonMoving, Holds: intents{Deliver}, Ask: askNewCluster},
		{Name: "old cluster", Type: moving, Reason: apis.ReasonMoving, Holds: intents{Deliver}, Ask: askOldCluster},
		{Name: "return", Type: forbidden, Holds: intents{Deliver}, Ask: askReturn},
		{Name: "relocation", Type: moving, Reason: apis.ReasonMoving, Holds: intents{Deliver}, Ask: askRelocation},

		// They are met while the work is written, and beside it.
		{Name: "operation grant", Type: forbidden, Holds: intents{Deliver}},
		{Name: "operation", Type: problem, Reason: apis.ReasonOperationInvalid, Holds: intents{Deliver}},
		{Name: "payload", Type: problem, Reason: apis.ReasonPayloadTooLarge, Holds: intents{Deliver, Remove, Leave}},
		{Name: "write", Type: problem, Reason: apis.ReasonWorkRejected, Holds: intents{Deliver}, Ends: gate.ByBackoff},
		{Name: "adoption", Type: problem, Reason: apis.ReasonAdoptionRefused, Holds: intents{Deliver}},
		{Name: "move", Type: moving, Reason: apis.ReasonMoving, Holds: intents{Deliver}},
		{Name: "release", Type: releasing, Reason: apis.ReasonReleasing, Holds: intents{Release, Disown, HandBack, End}},
		{Name: "released", Type: releasing, Holds: intents{Release, Disown}},
		{Name: "deletion", Type: deleting, Reason: apis.ReasonDeleting, Holds: intents{End, HandBack}},

		// Works that go.
		{Name: "grant missing", Type: forbidden, Holds: intents{Missing}, Ask: askMissing},
		{Name: "too many revocations", Type: forbidden, Reason: apis.ReasonRevocationHeld, Holds: intents{Refused}, Ask: askTooMany},
		{Name: "grace", Type: forbidden, Holds: intents{Refused}, Ends: gate.ByTime, Ask: askGrace},
		{Name: "revocation", Type: forbidden, Holds: intents{Revoke}},
		{Name: "requested operation", Holds: intents{Remove, Leave}, Ask: askRequested},
		{Name: "running operation", Holds: intents{Remove}, Ask: askOperation},
		{Name: "finalizers", Holds: intents{Remove, Revoke}, Ask: askFinalizers},
		{Name: "held beside", Holds: intents{Remove, Revoke, Drop}, Ask: askBeside},

		// Works that stay, and must not deploy anything new.
		{Name: "frozen", Type: forbidden, Holds: intents{Deliver, Release, Disown, End, HandBack}},

		// Works that are released.
		{Name: "return of a request", Type: forbidden, Holds: intents{Leave}, Ask: askReturned},
		{Name: "preparation", Holds: intents{Leave}, Ask: askPrepared},
		{Name: "dependencies", Holds: intents{Leave}, Ask: askDependencies},

		// Works whose Application is gone.
		{Name: "return after an outage", Holds: intents{Orphan}, Ends: gate.ByTime, Ask: askMadeAnew},
		{Name: "loss", Holds: intents{Orphan}, Ends: gate.ByTime, Ask: askLoss},
	}
}
