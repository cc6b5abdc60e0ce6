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

// Intent is something that a GitOpsCluster asks for.
type Intent string

// Intents.
const (
	// Serve does anything at all for the GitOpsCluster.
	Serve Intent = "serve"
	// Choose takes what the Placement has chosen.
	Choose Intent = "choose"
	// Use gives clusters to the Argo CD that the GitOpsCluster names. Where that is held back, it leaves that Argo CD.
	Use Intent = "use"
	// Claim notes one more Argo CD on the GitOpsCluster, before it has a Secret there.
	Claim Intent = "claim"
	// Open sees and writes the Secrets of an Argo CD.
	Open Intent = "open"
	// Add makes the Secret of a chosen cluster that has none.
	Add Intent = "add"
	// Follow brings the Secret of a chosen cluster up to date.
	Follow Intent = "follow"
	// Trust puts credentials into a Secret.
	Trust Intent = "trust"
	// Agree is for what is told of a Secret that is written all the same.
	Agree Intent = "agree"
	// Drop removes the Secrets of clusters that are no longer chosen.
	Drop Intent = "drop"
	// Remove deletes a Secret that nobody wants.
	Remove Intent = "remove"
)

// pushedAgain is when to look again where Applications are pushed to a cluster, which are not watched.
const pushedAgain = time.Minute

// question is what a gate is asked about.
type question struct {
	// namespace is that of an Argo CD.
	namespace string

	// candidate is a chosen cluster.
	candidate *candidate

	// secret is one that nobody wants.
	secret *corev1.Secret
}

type (
	answer = gate.Answer
	rule   = func(*decision, question) answer
)

var open answer

func because(format string, args ...any) answer { return gate.Because(format, args...) }

type intents = []Intent

// Gates are all reasons to wait, in the order in which they are asked.
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

// hold is what keeps a decision from going on, in words for the one who can change that.
type hold struct{ reason, words string }

// held asks the gates of an intent; nil when none holds.
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

// askPlacement: a Placement that is not there says nothing of its clusters.
func askPlacement(d *decision, _ question) answer {
	if d.Placement == nil {
		return because("there is no Placement %s: create it, or correct spec.placementRef; what was imported before stays",
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

// validNamespace is why a name cannot be that of a namespace; empty where it can.
func validNamespace(name string) string { return strings.Join(validation.IsDNS1123Label(name), "; ") }

// askConsent: an administrator says so, for each namespace.
func askConsent(d *decision, _ question) answer {
	if !d.Allowed() {
		return because("spec.argoServer.argoNamespace is %s, another namespace than the GitOpsCluster's own: an administrator may allow that "+
			"with kubectl label namespace %s %s=true", d.namespace(), d.namespace(), apis.LabelArgoNamespace)
	}
	return open
}

// askNumber bounds what one author may have Towline look at, and the length of the annotation.
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
		return because("Towline has no rights to the cluster Secrets of namespace %s: an administrator may give them with a RoleBinding "+
			"there to the ClusterRole towline-gitopscluster", q.namespace)
	}
	return open
}

func askCluster(_ *decision, q question) answer {
	if q.candidate.cluster == nil {
		return because("the Placement has chosen %s, and there is no such ManagedCluster: is it being detached?", q.candidate.name)
	}
	return open
}

// askRival: a Secret of somebody else's is never touched, nor is another made beside it.
func askRival(d *decision, q question) answer {
	return answer{Words: d.argo.conflict(q.candidate.cluster)}
}

// askTaken: the cache has only cluster Secrets. Anything may have the name.
func askTaken(d *decision, q question) answer {
	if s := d.Taken[q.candidate.name]; s != nil {
		return because("Secret %s/%s has the name that Towline needs, but does not belong to Towline: delete it or give it another name",
			s.Namespace, s.Name)
	}
	return open
}

func askRefusal(d *decision, q question) answer { return answer{Words: d.Refused[q.candidate.name]} }

func askAddress(_ *decision, q question) answer {
	if !q.candidate.usable {
		return because("ManagedCluster %s has no https address in spec.managedClusterClientConfigs that no other cluster has: "+
			"an Argo CD that pushes needs one. Set it in the annotation %s of Namespace %s",
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

// askToken: without a CA, Argo CD would trust every authority of its system, and send the token to any server with a certificate.
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

// askPermitted: an administrator says who may use which account. The cluster is imported without credentials.
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

// askAccount: one of several GitOpsClusters for a cluster decides, and the others say so.
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

// askSettled: the Placement's status and its decisions must agree, and it must have had something to choose from.
func askSettled(d *decision, _ question) answer {
	if !d.chosen.settled {
		return d.unsettled()
	}
	return open
}

// askGrace: a binding or a set may be missing for a moment, as in a restore.
func askGrace(d *decision, _ question) answer {
	due, next := d.due()
	d.wait(next)
	if len(due) == 0 {
		return d.unsettled()
	}
	return open
}

func (d *decision) unsettled() answer {
	return because("%s seemingly no longer chosen: their Secrets stay until the Placement, which must have clusters to choose from, "+
		"and its decisions have agreed on that for %s", count(len(d.left)), d.grace())
}

func (d *decision) grace() time.Duration { return cmp.Or(d.Grace, DefaultGrace) }

// due are the Secrets of clusters that have not been chosen for long enough, and next is how long it is until there are more;
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

// askPulled: without its Secret, generators would take a cluster for unknown, and its Applications off it.
func askPulled(d *decision, q question) answer {
	if u := d.Users[keyOf(q.secret)]; u != nil && !u.Pushed {
		return because("Secret %s/%s for Application %s", q.secret.Namespace, q.secret.Name, u.Application)
	}
	return open
}

// askPushed: without it, the hub's Argo CD could neither deploy to the cluster nor remove anything there.
func askPushed(d *decision, q question) answer {
	if u := d.Users[keyOf(q.secret)]; u != nil {
		return answer{Words: fmt.Sprintf("Secret %s/%s for Application %s", q.secret.Namespace, q.secret.Name, u.Application), After: pushedAgain}
	}
	return open
}
