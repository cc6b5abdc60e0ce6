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
	// Use gives clusters to the named Argo CD. If a gate holds Use, the GitOpsCluster leaves the Argo CD.
	Use Intent = "use"
	// Claim marks the GitOpsCluster with a new Argo CD before the first Secret.
	Claim Intent = "claim"
	// Open reads and writes the Secrets of an Argo CD.
	Open Intent = "open"
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

// question is the subject of a gate.
type question struct {
	// namespace is the namespace of an Argo CD.
	namespace string

	// candidate is a chosen cluster.
	candidate *candidate

	// secret is a Secret without owners.
	secret *corev1.Secret
}

type (
	answer = gate.Answer
	rule   = func(*decision, question) answer
)

var open answer

func because(format string, args ...any) answer { return gate.Because(format, args...) }

type intents = []Intent

// Gates are all reasons to wait, in the order of their checks.
var Gates = gate.Table[Intent, rule]{
	{Name: "older controller", Reason: apis.ReasonOlderControllerRuns, Holds: intents{Serve}, Ends: gate.ByTime, Ask: askOlderRuns},
	{Name: "older status", Reason: apis.ReasonOlderControllerWrote, Holds: intents{Serve}, Ask: askOlderWrote},

	{Name: "placement reference", Reason: apis.ReasonPlacementRefInvalid, Holds: intents{Choose}, Ask: askReference},
	{Name: "placement", Reason: apis.ReasonPlacementNotFound, Holds: intents{Choose}, Ask: askPlacement},
	{Name: "decisions", Reason: apis.ReasonPlacementPending, Holds: intents{Choose}, Ask: askDecisions},

	{Name: "namespace", Reason: apis.ReasonArgoNamespaceInvalid, Holds: intents{Use}, Ask: askNamespace},
	{Name: "consent", Reason: apis.ReasonArgoNamespaceNotAllowed, Holds: intents{Use}, Ask: askConsent},
	{Name: "number of namespaces", Reason: apis.ReasonArgoNamespacesExceeded, Holds: intents{Claim}, Ask: askNumber},
	{Name: "rights", Reason: apis.ReasonArgoNamespaceForbidden, Holds: intents{Open}, Ends: gate.ByBackoff, Ask: askRights},

	{Name: "cluster exists", Reason: apis.ReasonClusterNotFound, Holds: intents{Add, Follow}, Ask: askCluster},
	{Name: "another's Secret", Reason: apis.ReasonSecretConflict, Holds: intents{Add}, Ask: askRival},
	{Name: "name taken", Reason: apis.ReasonSecretConflict, Holds: intents{Add}, Ends: gate.ByBackoff, Ask: askTaken},
	{Name: "refusal", Reason: apis.ReasonSecretRejected, Holds: intents{Add, Follow}, Ends: gate.ByBackoff, Ask: askRefusal},
	{Name: "second Secret", Reason: apis.ReasonSecretConflict, Holds: intents{Agree}, Ask: askRival},

	{Name: "address", Reason: apis.ReasonServerUnknown, Holds: intents{Trust}, Ask: askAddress},
	{Name: "rights to tokens", Reason: apis.ReasonCredentialsForbidden, Holds: intents{Trust}, Ends: gate.ByBackoff, Ask: askTokenRights},
	{Name: "token", Reason: apis.ReasonCredentialsMissing, Holds: intents{Trust}, Ask: askToken},
	{Name: "account permitted", Reason: apis.ReasonCredentialsNotAllowed, Holds: intents{Agree}, Ask: askPermitted},
	{Name: "one account", Reason: apis.ReasonCredentialsConflict, Holds: intents{Agree}, Ask: askAccount},

	{Name: "settled", Reason: apis.ReasonSelectionUnsettled, Holds: intents{Drop}, Ask: askSettled},
	{Name: "grace", Reason: apis.ReasonSelectionUnsettled, Holds: intents{Drop}, Ends: gate.ByTime, Ask: askGrace},
	{Name: "Application for pull", Reason: apis.ReasonApplicationsRemain, Holds: intents{Remove}, Ask: askPulled},
	{Name: "Application pushed", Reason: apis.ReasonApplicationsRemain, Holds: intents{Remove}, Ends: gate.ByTime, Ask: askPushed},
}

// hold is a reason to wait, in words for the user who can resolve it.
type hold struct{ reason, words string }

// held checks the gates of an intent; nil if no gate holds.
func (d *decision) held(i Intent, q question) *hold {
	for g := range Gates.Of(i) {
		if a := g.Ask(d, q); a.Words != "" {
			d.plan.Trace = append(d.plan.Trace, gate.Said{Gate: g.Name, Holds: a.Words})
			d.plan.Backoff = d.plan.Backoff || g.Ends == gate.ByBackoff
			d.wait(a.After)
			return &hold{g.Reason, a.Words}
		}
	}
	return nil
}

func askReference(d *decision, _ question) answer {
	return answer{Words: badReference(d.GitOpsCluster)}
}

// askPlacement holds without a Placement: then the chosen clusters are unknown.
func askPlacement(d *decision, _ question) answer {
	if d.Placement == nil {
		return because("Placement %s does not exist: create the Placement, or correct spec.placementRef; imported clusters stay",
			PlacementKey(d.GitOpsCluster))
	}
	return open
}

func askDecisions(d *decision, _ question) answer {
	if len(d.Decisions) == 0 {
		return because("Placement %s has no PlacementDecision yet: does OCM's placement controller run?", PlacementKey(d.GitOpsCluster))
	}
	return open
}

func askNamespace(d *decision, _ question) answer {
	if bad := validNamespace(d.namespace()); bad != "" {
		return because("spec.argoServer.argoNamespace: %.80q cannot be a namespace: %s", d.namespace(), bad)
	}
	return open
}

// validNamespace returns why a name is not valid for a namespace; empty for a valid name.
func validNamespace(name string) string { return strings.Join(validation.IsDNS1123Label(name), "; ") }

// askConsent holds until an administrator labels the namespace.
func askConsent(d *decision, _ question) answer {
	if !d.Allowed() {
		return because("spec.argoServer.argoNamespace is %s, another namespace than the GitOpsCluster's own: an administrator may allow the "+
			"namespace with kubectl label namespace %s %s=true", d.namespace(), d.namespace(), apis.LabelArgoNamespace)
	}
	return open
}

// askNumber limits the work for a single author, and the length of the annotation.
func askNumber(d *decision, _ question) answer {
	if noted := d.marked().Namespaces; len(noted) >= maxNamespaces && !slices.Contains(noted, d.namespace()) {
		return because("spec.argoServer.argoNamespace is %s, but Towline may already have Secrets in %d other namespaces, which is the maximum: "+
			"%s. Wait until these are deleted, or remove the namespaces without Secrets from the annotation %s",
			d.namespace(), len(noted), some(noted), apis.AnnotationArgoNamespaces)
	}
	return open
}

func askRights(d *decision, q question) answer {
	if d.Argos[q.namespace].Forbidden {
		return because("Towline has no rights to the cluster Secrets of namespace %s: an administrator may grant the rights with a RoleBinding in "+
			"the namespace to the ClusterRole towline-gitopscluster", q.namespace)
	}
	return open
}

func askCluster(_ *decision, q question) answer {
	if q.candidate.cluster == nil {
		return because("the Placement has chosen %s, but the ManagedCluster does not exist: is the cluster being detached?", q.candidate.name)
	}
	return open
}

// askRival protects foreign Secrets: Towline neither changes them nor adds a second Secret for the cluster.
func askRival(d *decision, q question) answer {
	return answer{Words: d.argo.conflict(q.candidate.cluster)}
}

// askTaken holds if an object outside the cache has the name. The cache has only cluster Secrets.
func askTaken(d *decision, q question) answer {
	if s := d.Taken[q.candidate.name]; s != nil {
		return because("Secret %s/%s has the name that Towline needs, but does not belong to Towline: delete the Secret, or create the Secret "+
			"again under a different name",
			s.Namespace, s.Name)
	}
	return open
}

func askRefusal(d *decision, q question) answer { return answer{Words: d.Refused[q.candidate.name]} }

func askAddress(_ *decision, q question) answer {
	if !q.candidate.usable {
		return because("ManagedCluster %s has no https address of its own in spec.managedClusterClientConfigs, and an Argo CD that pushes needs "+
			"the address. Set the address in the annotation %s of Namespace %s",
			q.candidate.name, apis.AnnotationServer, q.candidate.name)
	}
	return open
}

func askTokenRights(d *decision, q question) answer {
	if d.Tokens[q.candidate.wish.account].Forbidden {
		return because("Towline may not read the tokens of ManagedServiceAccounts named %s: install the kustomize component "+
			"managed-serviceaccount with that name", q.candidate.wish.account)
	}
	return open
}

// askToken requires a token and a CA. Without a CA, Argo CD would trust every authority of its system, and send the
// token to any server with a certificate.
func askToken(d *decision, q question) answer {
	c := d.credentials(q.candidate.name, q.candidate.wish.account)
	switch {
	case c == nil:
		return because("there is no Secret with the token of ManagedServiceAccount %s/%s: create the ManagedServiceAccount, and check that "+
			"its add-on runs on the cluster", q.candidate.name, q.candidate.wish.account)
	case len(c.CA) == 0:
		return because("the Secret of ManagedServiceAccount %s/%s has no ca.crt, or a larger one than %d KiB: the credentials need the authorities "+
			"that vouch for the cluster's API server. Check the add-on on the cluster",
			q.candidate.name, q.candidate.wish.account, clustersecret.MaxCredential>>10)
	}
	return open
}

// askPermitted holds until an administrator permits the account. The cluster is imported without credentials.
func askPermitted(d *decision, _ question) answer {
	mine := AccountOf(d.GitOpsCluster)
	switch {
	case mine == "" || d.permits(d.GitOpsCluster.Namespace, mine):
		return open
	case validAccount(mine) != "":
		return because("spec.managedServiceAccountRef: %.80q cannot be the name of a ManagedServiceAccount: %s", mine, validAccount(mine))
	}
	return because("GitOpsClusters of namespace %s may not use ManagedServiceAccount %s in the Argo CD of namespace %s, so their clusters get no "+
		"credentials: an administrator may permit the account by an entry %s/%s in the annotation %s of Namespace %s",
		d.GitOpsCluster.Namespace, mine, d.namespace(), d.GitOpsCluster.Namespace, mine, apis.AnnotationGitOpsAccounts, d.namespace())
}

// askAccount reports a conflict of several GitOpsClusters for a cluster. Only one GitOpsCluster decides.
func askAccount(d *decision, q question) answer {
	mine, c := AccountOf(d.GitOpsCluster), q.candidate
	switch {
	case mine == "" || mine == c.wish.account:
		return open
	case c.wish.account == "":
		return because("GitOpsCluster %s imports %s without credentials (spec.createBlankClusterSecrets), and comes first: "+
			"use the same account in both", c.decides, c.name)
	}
	return because("GitOpsCluster %s imports %s with ManagedServiceAccount %s, which comes first: use the same account in both",
		c.decides, c.name, c.wish.account)
}

// askSettled requires agreement between the Placement's status and decisions, and a Placement with clusters to choose
// from.
func askSettled(d *decision, _ question) answer {
	if !d.chosen.settled {
		return d.unsettled()
	}
	return open
}

// askGrace waits, because a restore may lack a binding or a set for a moment.
func askGrace(d *decision, _ question) answer {
	due, next := d.due()
	d.wait(next)
	if len(due) == 0 {
		return d.unsettled()
	}
	return open
}

func (d *decision) unsettled() answer {
	return because("%s seemingly no longer chosen: their Secrets stay until the Placement has clusters to choose from, and its decisions leave "+
		"these clusters out for %s", count(len(d.left)), d.grace())
}

func (d *decision) grace() time.Duration { return cmp.Or(d.Grace, DefaultGrace) }

// due returns the Secrets of clusters unchosen for the whole grace time. next is the time until more Secrets are due;
// zero for never.
func (d *decision) due() (due []*corev1.Secret, next time.Duration) {
	for _, s := range d.left {
		since, known := d.Since[clustersecret.Cluster(s)]
		if !known {
			since = d.Now
		}
		if left := d.grace() - d.Now.Sub(since); left <= 0 {
			due = append(due, s)
		} else if next == 0 || left < next {
			next = left
		}
	}
	return due, next
}

// askPulled keeps a Secret for Applications for pull. Without the Secret, generators would miss the cluster and
// remove the Applications.
func askPulled(d *decision, q question) answer {
	if u := d.Users[keyOf(q.secret)]; u != nil && !u.Pushed {
		return because("Secret %s/%s for Application %s", q.secret.Namespace, q.secret.Name, u.Application)
	}
	return open
}

// askPushed keeps a Secret for pushed Applications. Without the Secret, the hub's Argo CD could neither deploy to the
// cluster nor remove resources from the cluster.
func askPushed(d *decision, q question) answer {
	if u := d.Users[keyOf(q.secret)]; u != nil {
		return answer{Words: fmt.Sprintf("Secret %s/%s for Application %s", q.secret.Namespace, q.secret.Name, u.Application), After: pushedAgain}
	}
	return open
}
