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

// Presence is what the hub has of an Application.
type Presence int

const (
	// Gone means: the API server itself says that there is none.
	Gone Presence = iota

	// Behind means: the cache does not have it yet, and will tell.
	Behind

	// Unlabelled means: it lacks the pull label, so that it was read past the cache.
	Unlabelled

	// Present means: it has the pull label, with whatever value.
	Present
)

// Need is a set of facts that few decisions depend on. They are read when a decision asks for them.
type Need int

const (
	// NeedOwn is the Application's own work past the cache, which does not show one.
	NeedOwn Need = 1 << iota

	// NeedClaimants is the works of the claimants past the cache, which does not show them.
	NeedClaimants

	// NeedNeighbours is all works of the target's cluster.
	NeedNeighbours

	// NeedHubCopy is the Application that the hub has, as its own managed cluster, at the target.
	NeedHubCopy

	// NeedRehearsal is the API server's word on whether it would take the work.
	NeedRehearsal

	// NeedReturn is whether the Application may still be sent to where its works brought it.
	NeedReturn

	// NeedDependencies is whether the dependencies of Applications that are being released will stay without their works.
	NeedDependencies

	// NeedLoss is whether the hub has lost the Application, rather than deleted it.
	NeedLoss

	// NeedIdentity is a word that no operation has had.
	NeedIdentity

	// NeedReported is when the agents of works last reported, which the cache does not hold.
	NeedReported

	// NeedChoice is what the ApplicationSet of the Application says of its cluster.
	NeedChoice

	// NeedLatest is the Application past the cache. Where people have changed it since, only its status and its refresh are taken; where it
	// has ended, nothing.
	NeedLatest

	// NeedOthers is the other works past the cache.
	NeedOthers

	// NeedRights is whether the content of the works may still be on their clusters.
	NeedRights
)

// Facts are all that a decision depends on. Objects are the cache's own: nobody changes them.
type Facts struct {
	// Now is the time.
	Now time.Time

	// Key names the Application on the hub.
	Key types.NamespacedName

	// Presence is what the hub has of it; App is nil when that is Gone or Behind.
	Presence Presence
	App      *argocd.Application

	// Outdated is set when people have changed the Application since the version that the cache has, or it has ended. The cache will tell of
	// that.
	Outdated bool

	// Own is the work that the Application must have, by its target and its name; nil when there is none. OwnUnwatched is
	// set when the cache does not show it, so that its changes wake nobody.
	Own          *workv1.ManifestWork
	OwnUnwatched bool

	// OwnOwner is another Application of the hub that must have Own too; empty for none.
	OwnOwner types.NamespacedName

	// Others are the works that name the Application and are not Own: on other clusters, or of an earlier Application of its
	// name.
	Others []*workv1.ManifestWork

	// Clusters are those of the target and of all works.
	Clusters map[string]managedcluster.Facts

	// Addresses are the addresses that the ManagedClusters have for a hub, by the name of the cluster, for Applications that do not ask to
	// be sent. Clusters may have written them. They say only whom the hub's own Argo CD deploys to.
	Addresses map[string][]string

	// Paused names the object of the hub, other than a cluster, that pauses the Application; empty for none.
	Paused string

	// Unreadable is why what the spec asks for cannot be read; nil where it can. It is known for Applications that ask to be sent.
	Unreadable error

	// Refused is the refusal of what the spec asks for, and OperationRefused that of the requested operation beside it; nil
	// where there is none. Both are known for Applications that ask to be sent.
	Refused, OperationRefused *authorization.Refusal

	// GrantedBy is the ManagedClusterSetBinding that gives the Application's namespace the cluster, where the work is to remember
	// that; empty for none.
	GrantedBy string

	// Executor is for whom the work is applied. ExecutorInvalid says why what the AppProject names is no ServiceAccount.
	Executor        types.NamespacedName
	ExecutorInvalid string

	// Claimants are the other Applications with the same target.
	Claimants []Claimant

	// Revoked are the refusals of what works carry, by the UID of the work. They are known where such works are to go.
	Revoked map[types.UID]Revocation

	// Refusal is the API server's refusal of the work that the plan before this one was to write; nil for none.
	Refusal *Rejection

	// Live is set when all objects were read past the cache.
	Live bool

	// Known are the facts below that were asked for and read.
	Known Need

	// Neighbours are all works of the target's cluster.
	Neighbours []*workv1.ManifestWork

	// HubCopy is the Application at the target where the hub is its own managed cluster; nil for none.
	HubCopy *argocd.Application

	// Rehearsed is the refusal of a work that was only tried; nil when it would be taken.
	Rehearsed *Rejection

	// Return are the refusals of the Application where works brought it, by the UID of the work.
	Return map[types.UID]*authorization.Refusal

	// Lost are the refusals of what works carry, on the clusters of the works, by the UID of the work.
	Lost map[types.UID]*authorization.Refusal

	// Dependencies are the works, by UID, whose dependencies stay without them.
	Dependencies map[types.UID]bool

	// Reported are when the agents of works last changed what they report, by the hub's own clock, by the UID of the work: a
	// cluster's clock may be wrong. One that the hub does not tell of is not among them.
	Reported map[types.UID]time.Time

	// Choice is what the ApplicationSet of the Application says of its cluster.
	Choice Choice

	// Identity is a word that no operation has had.
	Identity string

	// Loss is what is known of the end of an Application that is gone.
	Loss Loss
}

// Choice is what the ApplicationSet of an Application says of its cluster now.
type Choice struct {
	// Set names the ApplicationSet where it is there, stays there, and takes clusters from Placements; empty otherwise.
	Set string

	// Chosen is set when one of those Placements has chosen the Application's cluster.
	Chosen bool

	// Unwatched is set when a change of what they have chosen wakes nobody.
	Unwatched bool
}

// Claimant is another Application with the same target.
type Claimant struct {
	// App is the Application.
	App *argocd.Application

	// Work is its work; nil for none.
	Work *workv1.ManifestWork

	// Refused is the refusal of what it asks for; nil for none.
	Refused *authorization.Refusal
}

// Revocation is a refusal of what a work carries.
type Revocation struct {
	// Refusal says why.
	Refusal *authorization.Refusal

	// Since is since when a rule refuses it without a break; not known where an object is missing, so that nobody says no.
	Since time.Time

	// Held is set when too many works have lost their right at a time.
	Held bool
}

// Rejection is the API server's refusal of a work.
type Rejection struct {
	// Key names the work.
	Key types.NamespacedName

	// Namespace is set when the cluster's namespace is missing or going.
	Namespace bool

	// Message is the API server's.
	Message string
}

// Loss tells the end of an Application that was told of from one that was found.
type Loss struct {
	// Lost is set when the hub has lost the Application; Left is how long to look for others before that is decided.
	Lost bool
	Left time.Duration

	// Held is set when works that were kept once stay so: nobody has told of an end since.
	Held bool
}

// Options are what is said for all Applications.
type Options struct {
	// Move says what comes first when the target of an Application changes.
	Move MoveOptions

	// Adopt says what becomes of an Application that is on its cluster already, where it does not say itself; one of the
	// Adopt… constants of package apis.
	Adopt string

	// Revocation says what becomes of a work whose Application has lost the right to it.
	Revocation RevocationOptions

	// AfterRestore is one of AfterRestoreModes: what becomes of works whose Applications the hub has lost.
	AfterRestore string
}

// MoveOptions say how Applications change clusters.
type MoveOptions struct {
	// Order is what comes first where the Application does not say: apis.MoveNewFirst or apis.MoveOldFirst; empty
	// for the former.
	Order string

	// Timeout is how long the old cluster keeps an Application that has been applied on the new one and is not
	// healthy there; 0 for no longer than that.
	Timeout time.Duration
}

const (
	// DefaultRevocationGrace is how long a rule must have refused a work before that goes, where nothing else is said. The
	// objects that decide are not written all at once, and a mistake can be taken back within it.
	DefaultRevocationGrace = time.Minute

	// DefaultRevocationLimit is how many works may lose their right at a time before that counts as a mistake.
	DefaultRevocationLimit = 10
)

// RevocationOptions say what becomes of a work where it may not be any more.
type RevocationOptions struct {
	// Delete is set where a rule that refuses it takes it off its cluster. Otherwise it stays as it is.
	Delete bool

	// Grace is how long the rule must have refused it without a break; 0 stands for DefaultRevocationGrace.
	Grace time.Duration

	// Limit is how many works may go so within ten minutes. Of more, all are kept. 0 stands for DefaultRevocationLimit.
	Limit int
}

// WithDefaults are the options with what they stand for.
func (o RevocationOptions) WithDefaults() RevocationOptions {
	o.Grace = cmp.Or(o.Grace, DefaultRevocationGrace)
	o.Limit = cmp.Or(o.Limit, DefaultRevocationLimit)
	return o
}

// What becomes of works whose Applications the hub has lost, rather than deleted: see Options.AfterRestore.
const (
	// AfterRestoreHold keeps them as they are, until their Applications are back or somebody says otherwise.
	AfterRestoreHold = "hold"

	// AfterRestoreAdopt releases them: the clusters keep everything for whoever makes the Applications anew.
	AfterRestoreAdopt = "adopt"

	// AfterRestoreDelete takes the hub at its word: what it does not have goes.
	AfterRestoreDelete = "delete"
)

// AfterRestoreModes are all of them, the default first.
var AfterRestoreModes = []string{AfterRestoreHold, AfterRestoreAdopt, AfterRestoreDelete}
