package delivery

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/managedcluster"
)

// Presence tells whether the hub and the cache have an Application.
type Presence int

const (
	// Gone means: the API server itself reports no Application.
	Gone Presence = iota

	// Behind means: the cache does not have the Application yet. The cache will wake the controller.
	Behind

	// Unlabelled means: the Application lacks the pull label, and was therefore read past the cache.
	Unlabelled

	// Present means: the Application has the pull label, with any value.
	Present
)

// FactSet is a set of rarely needed facts. The caller reads the facts when a decision requests them.
type FactSet int

const (
	// FactOwn is the Application's own work, read past the cache. The cache does not show the work.
	FactOwn FactSet = 1 << iota

	// FactClaimants are the works of the claimants, read past the cache. The cache does not show the works.
	FactClaimants

	// FactNeighbours are all works of the target's cluster.
	FactNeighbours

	// FactHubCopy is the Application at the target on the hub, if the hub is its own managed cluster.
	FactHubCopy

	// FactRehearsal is the API server's answer to a dry run of the write of the work.
	FactRehearsal

	// FactReturn is whether Towline may still send the Application to the former targets of its works.
	FactReturn

	// FactDependencies is whether the dependencies of Applications in release will stay without their works.
	FactDependencies

	// FactLoss is whether the hub has lost the Application, instead of deleted the Application.
	FactLoss

	// FactIdentity is an identity unused by earlier operations.
	FactIdentity

	// FactReported are the times of the last reports from the works' agents. The cache does not hold the times.
	FactReported

	// FactChoice is the decision of the Application's ApplicationSet about the Application's cluster.
	FactChoice

	// FactLatest is the Application, read past the cache. After an edit by a user, Facts.App gets only the status and
	// the refresh from the new version. After the end of the Application, Facts.App stays as cached. In both cases,
	// Facts.Outdated is set.
	FactLatest

	// FactOthers are the other works, read past the cache.
	FactOthers

	// FactRights is whether the rules still permit the content of the works on the clusters of the works.
	FactRights
)

// Facts are all inputs of a decision. The objects belong to the cache: callers must not change the objects.
type Facts struct {
	// Now is the present time.
	Now time.Time

	// Key is the namespace and name of the Application on the hub.
	Key types.NamespacedName

	// Presence is how the hub has the Application. App is nil for Gone and Behind.
	Presence Presence
	App      *argocd.Application

	// Outdated is true if a user has changed the Application since the version in the cache, or if the Application has
	// ended. Known after FactLatest. The event of the change will wake the controller.
	Outdated bool

	// Own is the work that belongs to the Application by target and name; nil for none. OwnUnwatched is true if the
	// cache does not show the work, so that a change of the work wakes no controller.
	Own          *workv1.ManifestWork
	OwnUnwatched bool

	// OwnOwner is another Application on the hub with the same own work; empty for none.
	OwnOwner types.NamespacedName

	// Others are all further works of the Application: works on other clusters, and works of an earlier Application
	// of the same name.
	Others []*workv1.ManifestWork

	// Clusters are the clusters of the target and of all works, by name.
	Clusters map[string]managedcluster.Facts

	// Addresses are the API server addresses in the ManagedClusters, by the name of the cluster. Known for
	// Applications that are not to be sent. Clusters may have written the addresses. Use the addresses only to find
	// the target cluster of a deployment by the hub's own Argo CD.
	Addresses map[string][]string

	// Paused is the name of the object on the hub, other than a cluster, that pauses the Application; empty for none.
	Paused string

	// Unreadable is the error from reading the spec; nil for a readable spec. Known for Applications to be sent.
	Unreadable error

	// Refused is the refusal of the spec, and OperationRefused the refusal of the requested operation; nil for none.
	// Both are known for Applications to be sent.
	Refused, OperationRefused *authorization.Refusal

	// ReadsRefused are the repositories of the history that the own work lets the cluster read, for an operation, and that
	// the AppProject does not permit any more. Known for Applications to be sent.
	ReadsRefused []string

	// GrantedBy is the ManagedClusterSetBinding that permits the cluster to the Application's namespace, if the work
	// is to store the binding; empty for none.
	GrantedBy string

	// Executor is the ServiceAccount for the apply of the work. ExecutorInvalid is why the AppProject's value is not
	// a ServiceAccount.
	Executor        types.NamespacedName
	ExecutorInvalid string

	// Watched is true if the work agent watches the place of the Application because of another work; see work.Watched.
	Watched bool

	// Claimants are the other Applications with the same target.
	Claimants []Claimant

	// Revoked are the refusals of the content of works, by the UID of the work. Known if refused works are to be
	// deleted.
	Revoked map[types.UID]Revocation

	// Refusal is the API server's refusal of the work in the previous plan; nil for none.
	Refusal *Rejection

	// Known says which of the facts below have been requested and read.
	Known FactSet

	// Neighbours are all works of the target's cluster.
	Neighbours []*workv1.ManifestWork

	// HubCopy is the Application at the target, if the hub is its own managed cluster; nil for none.
	HubCopy *argocd.Application

	// Rehearsed is the refusal of a work in a dry run; nil if the API server would accept the work.
	Rehearsed *Rejection

	// Return are the refusals of the Application at the former targets of works, by the UID of the work.
	Return map[types.UID]*authorization.Refusal

	// Lost are the refusals of the content of works, on the clusters of the works, by the UID of the work. Unlike
	// Revoked, Lost is read on request, for the freeze.
	Lost map[types.UID]*authorization.Refusal

	// Dependencies are the works, by UID, whose dependencies stay without the works.
	Dependencies map[types.UID]bool

	// Reported are the times of the last changes in the reports of works, by the hub's own clock, by the UID of the
	// work. A cluster's clock may be wrong. A work without a known time has no entry.
	Reported map[types.UID]time.Time

	// Choice is the decision of the Application's ApplicationSet about the Application's cluster.
	Choice Choice

	// Identity is an identity unused by earlier operations.
	Identity string

	// Loss tells whether a missing Application was deleted or lost. Known after FactLoss.
	Loss Loss
}

// Choice is the present decision of an Application's ApplicationSet about the Application's cluster.
type Choice struct {
	// Set is the name of the ApplicationSet, if the ApplicationSet exists, stays, and selects clusters by Placements;
	// otherwise empty.
	Set string

	// Chosen is true if a Placement of the ApplicationSet has chosen the Application's cluster.
	Chosen bool

	// Unwatched is true if a change of the chosen clusters wakes no controller.
	Unwatched bool
}

// Claimant is another Application with the same target.
type Claimant struct {
	// App is the Application.
	App *argocd.Application

	// Work is the claimant's work; nil for none.
	Work *workv1.ManifestWork

	// Refused is the refusal of the claimant's spec; nil for none.
	Refused *authorization.Refusal
}

// Revocation is a refusal of the content of a work.
type Revocation struct {
	// Refusal is the reason.
	Refusal *authorization.Refusal

	// Since is the start of the uninterrupted refusal by a rule. Unknown if an object is missing, because a missing
	// object is no refusal.
	Since time.Time

	// TooMany is true if too many works have lost their right at the same time.
	TooMany bool
}

// Rejection is the API server's refusal of a work.
type Rejection struct {
	// Key is the namespace and name of the work.
	Key types.NamespacedName

	// Namespace is true if the cluster's namespace is missing or in deletion.
	Namespace bool

	// Message is the API server's message.
	Message string
}

// Loss tells an observed deletion of the Application apart from an Application found missing.
type Loss struct {
	// Lost is true if the hub has lost the Application. A later deletion of the Application ends the loss.
	Lost bool

	// Remaining is the remaining time to look for further losses before the decision.
	Remaining time.Duration
}

// Options are the settings for all Applications.
type Options struct {
	// Move is the order of a move to another target.
	Move MoveOptions

	// Adopt is the rule for an Application that exists on its cluster already, if the Application has no own rule: an
	// Adopt… constant of package apis.
	Adopt string

	// Revocation is the rule for a work whose Application has lost the right to the cluster.
	Revocation RevocationOptions

	// AfterRestore is the rule for works whose Applications the hub has lost: a value of AfterRestoreModes.
	AfterRestore string
}

// MoveOptions are the rules for the move of an Application to another cluster.
type MoveOptions struct {
	// Order is the default order for an Application without a setting: apis.MoveNewFirst or apis.MoveOldFirst; empty
	// for the former.
	Order string

	// Timeout is how long the old cluster keeps an Application that is applied but not healthy on the new cluster. The
	// time counts from the creation of the new work. 0: the old cluster does not wait for the health.
	Timeout time.Duration
}

const (
	// DefaultRevocationGrace is the default time for which a rule must refuse a work before its deletion. The
	// deciding objects are not all written at the same time, and a user can undo a mistake within this time.
	DefaultRevocationGrace = time.Minute

	// DefaultRevocationLimit is the default number of works that may lose their right at the same time before Towline
	// assumes a mistake.
	DefaultRevocationLimit = 10
)

// RevocationOptions are the rules for a work without a right to its cluster.
type RevocationOptions struct {
	// Delete is true if the refusal by a rule removes the work from its cluster. Otherwise the work stays unchanged.
	Delete bool

	// Grace is the required time of uninterrupted refusal; 0 stands for DefaultRevocationGrace.
	Grace time.Duration

	// Limit is the maximum number of refused works, plus the works deleted by a revocation within the last ten
	// minutes. Above the limit, Towline keeps all refused works until no work is refused. 0 stands for
	// DefaultRevocationLimit.
	Limit int
}

// WithDefaults returns the options with the defaults in place of zero values.
func (o RevocationOptions) WithDefaults() RevocationOptions {
	o.Grace = cmp.Or(o.Grace, DefaultRevocationGrace)
	o.Limit = cmp.Or(o.Limit, DefaultRevocationLimit)
	return o
}

// Rules for works whose Applications the hub has lost, instead of deleted: see Options.AfterRestore.
const (
	// AfterRestoreHold keeps the works unchanged, until the Applications are back or a user decides.
	AfterRestoreHold = "hold"

	// AfterRestoreAdopt releases the works. The clusters keep everything for the next author of the Applications.
	AfterRestoreAdopt = "adopt"

	// AfterRestoreDelete trusts the hub: works without an Application on the hub are deleted.
	AfterRestoreDelete = "delete"
)

// AfterRestoreModes are all rules for lost Applications, the default first.
var AfterRestoreModes = []string{AfterRestoreHold, AfterRestoreAdopt, AfterRestoreDelete}
