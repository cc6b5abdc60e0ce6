package clusterimport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/gate"
)

// Intent is an action for a GitOpsCluster.
type Intent string

// Intents.
const (
	// Serve is any action for the GitOpsCluster.
	Serve Intent = "serve"
	// Choose reads the chosen clusters of the Placement.
	Choose Intent = "choose"
	// Use gives clusters to the named Argo CD. If a gate blocks Use, the GitOpsCluster leaves the Argo CD.
	Use Intent = "use"
	// Claim marks the GitOpsCluster with a new Argo CD before the first Secret.
	Claim Intent = "claim"
	// Access reads and writes the Secrets of an Argo CD.
	Access Intent = "access"
	// Add creates the Secret of a chosen cluster.
	Add Intent = "add"
	// Follow updates the Secret of a chosen cluster.
	Follow Intent = "follow"
	// Trust puts credentials into a Secret.
	Trust Intent = "trust"
	// Agree only reports a problem: Towline writes the Secret all the same.
	Agree Intent = "agree"
	// Drop removes the Secrets of clusters no longer chosen.
	Drop Intent = "drop"
	// Remove deletes a Secret without owners.
	Remove Intent = "remove"
)

// pushedAgain is when to check pushed Applications of a cluster again. Towline does not watch pushed Applications.
const pushedAgain = time.Minute

// subject is the object of a check.
type subject struct {
	// namespace is the namespace of an Argo CD.
	namespace string

	// candidate is a chosen cluster.
	candidate *candidate

	// secret is a Secret without owners.
	secret *corev1.Secret
}

type (
	answer = gate.Answer
	rule   = func(*decision, subject) answer
)

var pass answer

func blockf(format string, args ...any) answer { return gate.Blockf(format, args...) }

type intents = []Intent

// Gates are all reasons to wait, in the order of their checks.
var Gates = gate.Table[Intent, rule]{
	{Name: "older controller", Reason: apis.ReasonOlderControllerRuns, Blocks: intents{Serve}, Check: checkOlderRuns},
	{Name: "older status", Reason: apis.ReasonOlderControllerWrote, Blocks: intents{Serve}, Check: checkOlderWrote},

	{Name: "placement reference", Reason: apis.ReasonPlacementRefInvalid, Blocks: intents{Choose}, Check: checkReference},
	{Name: "placement", Reason: apis.ReasonPlacementNotFound, Blocks: intents{Choose}, Check: checkPlacement},
	{Name: "decisions", Reason: apis.ReasonPlacementPending, Blocks: intents{Choose}, Check: checkDecisions},

	{Name: "namespace", Reason: apis.ReasonArgoNamespaceInvalid, Blocks: intents{Use}, Check: checkNamespace},
	{Name: "consent", Reason: apis.ReasonArgoNamespaceNotAllowed, Blocks: intents{Use}, Check: checkConsent},
	{Name: "number of namespaces", Reason: apis.ReasonArgoNamespacesExceeded, Blocks: intents{Claim}, Check: checkNumber},
	{Name: "rights", Reason: apis.ReasonArgoNamespaceForbidden, Blocks: intents{Access}, Backoff: true, Check: checkRights},

	{Name: "cluster exists", Reason: apis.ReasonClusterNotFound, Blocks: intents{Add, Follow}, Check: checkCluster},
	{Name: "another's Secret", Reason: apis.ReasonSecretConflict, Blocks: intents{Add}, Check: checkRival},
	{Name: "name taken", Reason: apis.ReasonSecretConflict, Blocks: intents{Add}, Backoff: true, Check: checkTaken},
	{Name: "refusal", Reason: apis.ReasonSecretRejected, Blocks: intents{Add, Follow}, Backoff: true, Check: checkRefusal},
	{Name: "second Secret", Reason: apis.ReasonSecretConflict, Blocks: intents{Agree}, Check: checkRival},

	{Name: "address", Reason: apis.ReasonServerUnknown, Blocks: intents{Trust}, Check: checkAddress},
	{Name: "rights to tokens", Reason: apis.ReasonCredentialsForbidden, Blocks: intents{Trust}, Backoff: true, Check: checkTokenRights},
	{Name: "token", Reason: apis.ReasonCredentialsMissing, Blocks: intents{Trust}, Check: checkToken},
	{Name: "account permitted", Reason: apis.ReasonCredentialsNotAllowed, Blocks: intents{Agree}, Check: checkPermitted},
	{Name: "one account", Reason: apis.ReasonCredentialsConflict, Blocks: intents{Agree}, Check: checkAccount},

	{Name: "settled", Reason: apis.ReasonSelectionUnsettled, Blocks: intents{Drop}, Check: checkSettled},
	{Name: "grace", Reason: apis.ReasonSelectionUnsettled, Blocks: intents{Drop}, Check: checkGrace},
	{Name: "Application for pull", Reason: apis.ReasonApplicationsRemain, Blocks: intents{Remove}, Check: checkPulled},
	{Name: "Application pushed", Reason: apis.ReasonApplicationsRemain, Blocks: intents{Remove}, Check: checkPushed},
}

// block is a reason to wait, in words for the user who can resolve it.
type block struct{ reason, words string }

// firstBlock checks the gates of an intent; nil if all checks pass.
func (d *decision) firstBlock(i Intent, on subject) *block {
	for g := range Gates.Of(i) {
		if a := g.Check(d, on); a.Words != "" {
			d.plan.Backoff = d.plan.Backoff || g.Backoff
			d.wait(a.After)
			return &block{g.Reason, a.Words}
		}
	}
	return nil
}

func checkReference(d *decision, _ subject) answer {
	return answer{Words: badReference(d.GitOpsCluster)}
}

// checkPlacement blocks without a Placement: then the chosen clusters are unknown.
func checkPlacement(d *decision, _ subject) answer {
	if d.Placement == nil {
		return blockf("Placement %s does not exist: create the Placement, or correct spec.placementRef; imported clusters stay",
			PlacementKey(d.GitOpsCluster))
	}
	return pass
}

func checkDecisions(d *decision, _ subject) answer {
	if len(d.Decisions) == 0 {
		return blockf("Placement %s has no PlacementDecision yet: does OCM's placement controller run?", PlacementKey(d.GitOpsCluster))
	}
	return pass
}

func checkNamespace(d *decision, _ subject) answer {
	if bad := validNamespace(d.namespace()); bad != "" {
		return blockf("spec.argoServer.argoNamespace: %.80q cannot be a namespace: %s", d.namespace(), bad)
	}
	return pass
}

// validNamespace returns why a name is not valid for a namespace; empty for a valid name.
func validNamespace(name string) string { return strings.Join(validation.IsDNS1123Label(name), "; ") }

// checkConsent blocks until an administrator labels the namespace.
func checkConsent(d *decision, _ subject) answer {
	if !d.Allowed() {
		return blockf("spec.argoServer.argoNamespace is %s, another namespace than the GitOpsCluster's own: an administrator may allow the "+
			"namespace with kubectl label namespace %s %s=true", d.namespace(), d.namespace(), apis.LabelArgoNamespace)
	}
	return pass
}

// checkNumber limits the work for a single author, and the length of the annotation.
func checkNumber(d *decision, _ subject) answer {
	if noted := d.marked().Namespaces; len(noted) >= maxNamespaces && !slices.Contains(noted, d.namespace()) {
		return blockf("spec.argoServer.argoNamespace is %s, but Towline may already have Secrets in %d other namespaces, which is the maximum: "+
			"%s. Wait until these are deleted, or remove the namespaces without Secrets from the annotation %s",
			d.namespace(), len(noted), some(noted), apis.AnnotationArgoNamespaces)
	}
	return pass
}

func checkRights(d *decision, on subject) answer {
	if d.Argos[on.namespace].Forbidden {
		return blockf("Towline has no rights to the cluster Secrets of namespace %s: an administrator may grant the rights with a RoleBinding in "+
			"the namespace to the ClusterRole towline-gitopscluster", on.namespace)
	}
	return pass
}

func checkCluster(_ *decision, on subject) answer {
	if on.candidate.cluster == nil {
		return blockf("the Placement has chosen %s, but the ManagedCluster does not exist: is the cluster being detached?", on.candidate.name)
	}
	return pass
}

// checkRival protects foreign Secrets: Towline neither changes them nor adds a second Secret for the cluster.
func checkRival(d *decision, on subject) answer {
	return answer{Words: d.argo.conflict(on.candidate.cluster)}
}

// checkTaken blocks if an object outside the cache has the name. The cache has only cluster Secrets.
func checkTaken(d *decision, on subject) answer {
	if s := d.Taken[on.candidate.name]; s != nil {
		return blockf("Secret %s/%s has the name that Towline needs, but does not belong to Towline: delete the Secret, or create the Secret "+
			"again under a different name",
			s.Namespace, s.Name)
	}
	return pass
}

func checkRefusal(d *decision, on subject) answer { return answer{Words: d.Refused[on.candidate.name]} }

func checkAddress(_ *decision, on subject) answer {
	if !on.candidate.usable {
		return blockf("ManagedCluster %s has no https address of its own in spec.managedClusterClientConfigs, and an Argo CD that pushes needs "+
			"the address. Set the address in the annotation %s of Namespace %s",
			on.candidate.name, apis.AnnotationServer, on.candidate.name)
	}
	return pass
}

func checkTokenRights(d *decision, on subject) answer {
	if d.Tokens[on.candidate.wish.account].Forbidden {
		return blockf("Towline may not read the tokens of ManagedServiceAccounts named %s: install the kustomize component "+
			"managed-serviceaccount with that name", on.candidate.wish.account)
	}
	return pass
}

// checkToken requires a token and a CA. Without a CA, Argo CD would trust every authority of its system, and send the
// token to any server with a certificate.
func checkToken(d *decision, on subject) answer {
	c := d.credentials(on.candidate.name, on.candidate.wish.account)
	switch {
	case c == nil:
		return blockf("there is no Secret with the token of ManagedServiceAccount %s/%s: create the ManagedServiceAccount, and check that "+
			"its add-on runs on the cluster", on.candidate.name, on.candidate.wish.account)
	case len(c.CA) == 0:
		return blockf("the Secret of ManagedServiceAccount %s/%s has no ca.crt, or a larger one than %d KiB: the credentials need the authorities "+
			"that vouch for the cluster's API server. Check the add-on on the cluster",
			on.candidate.name, on.candidate.wish.account, clustersecret.MaxCredential>>10)
	}
	return pass
}

// checkPermitted blocks until an administrator permits the account. The cluster is imported without credentials.
func checkPermitted(d *decision, _ subject) answer {
	mine := AccountOf(d.GitOpsCluster)
	switch {
	case mine == "" || d.permits(d.GitOpsCluster.Namespace, mine):
		return pass
	case validAccount(mine) != "":
		return blockf("spec.managedServiceAccountRef: %.80q cannot be the name of a ManagedServiceAccount: %s", mine, validAccount(mine))
	}
	return blockf("GitOpsClusters of namespace %s may not use ManagedServiceAccount %s in the Argo CD of namespace %s, so their clusters get no "+
		"credentials: an administrator may permit the account by an entry %s/%s in the annotation %s of Namespace %s",
		d.GitOpsCluster.Namespace, mine, d.namespace(), d.GitOpsCluster.Namespace, mine, apis.AnnotationGitOpsAccounts, d.namespace())
}

// checkAccount reports a conflict of several GitOpsClusters for a cluster. Only one GitOpsCluster decides.
func checkAccount(d *decision, on subject) answer {
	mine, c := AccountOf(d.GitOpsCluster), on.candidate
	switch {
	case mine == "" || mine == c.wish.account:
		return pass
	case c.wish.account == "":
		return blockf("GitOpsCluster %s imports %s without credentials (spec.createBlankClusterSecrets), and comes first: "+
			"use the same account in both", c.decides, c.name)
	}
	return blockf("GitOpsCluster %s imports %s with ManagedServiceAccount %s, which comes first: use the same account in both",
		c.decides, c.name, c.wish.account)
}

// checkSettled requires agreement between the Placement's status and decisions, and a Placement with clusters to choose
// from.
func checkSettled(d *decision, _ subject) answer {
	if !d.chosen.settled {
		return d.unsettled()
	}
	return pass
}

// checkGrace waits, because a restore may lack a binding or a set for a moment.
func checkGrace(d *decision, _ subject) answer {
	due, next := d.due()
	d.wait(next)
	if len(due) == 0 {
		return d.unsettled()
	}
	return pass
}

func (d *decision) unsettled() answer {
	return blockf("%s seemingly no longer chosen: their Secrets stay until the Placement has clusters to choose from, and its decisions leave "+
		"these clusters out for %s", count(len(d.unchosen)), d.grace())
}

func (d *decision) grace() time.Duration { return cmp.Or(d.Grace, DefaultGrace) }

// due returns the Secrets of clusters unchosen for the whole grace time. next is the time until more Secrets are due;
// zero for never.
func (d *decision) due() (due []*corev1.Secret, next time.Duration) {
	for _, s := range d.unchosen {
		since, known := d.Since[clustersecret.Cluster(s)]
		if !known {
			since = d.Now
		}
		if left := d.grace() - d.Now.Sub(since); left <= 0 {
			due = append(due, s)
		} else {
			next = gate.Sooner(next, left)
		}
	}
	return due, next
}

// checkPulled keeps a Secret for Applications for pull. Without the Secret, generators would miss the cluster and
// remove the Applications.
func checkPulled(d *decision, on subject) answer {
	if u := d.Users[keyOf(on.secret)]; u != nil && !u.Pushed {
		return blockf("Secret %s/%s for Application %s", on.secret.Namespace, on.secret.Name, u.Application)
	}
	return pass
}

// checkPushed keeps a Secret for pushed Applications. Without the Secret, the hub's Argo CD could neither deploy to the
// cluster nor remove resources from the cluster.
func checkPushed(d *decision, on subject) answer {
	if u := d.Users[keyOf(on.secret)]; u != nil {
		return answer{Words: fmt.Sprintf("Secret %s/%s for Application %s", on.secret.Namespace, on.secret.Name, u.Application), After: pushedAgain}
	}
	return pass
}
