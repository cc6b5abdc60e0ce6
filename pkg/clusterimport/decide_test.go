package clusterimport

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
)

func reference(change func(*corev1.ObjectReference)) edit {
	return spec(func(g *v1beta1.GitOpsCluster) {
		g.Spec.PlacementRef = g.Spec.PlacementRef.DeepCopy()
		change(g.Spec.PlacementRef)
	})
}

func TestChoose(t *testing.T) {
	none := func(s *situation) { s.Placement, s.Decisions = nil, nil }
	invalid := []string{"False: PlacementRefInvalid", "Unknown: PlacementUnresolved"}
	decides(t, map[string]row{
		"chosen, and not claimed": {is: fresh(), want: []string{"claim argocd"}},
		"chosen": {is: fresh(claimed), want: []string{"create *v1.ConfigMap", "create *v1.Role", "create *v1.RoleBinding", "create *v1.ConfigMap",
			"create a", "create b", "True: Resolved", "True: Imported", "True: Removed"}, says: "2 clusters imported"},
		"imported": {is: imported(), want: []string{}},
		"the Placement has a word": {is: imported().with(func(s *situation) {
			c := &s.Placement.Status.Conditions[0]
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, "NotAllDecisionsScheduled", "1 more"
		}), want: []string{}, says: "2 clusters (NotAllDecisionsScheduled: 1 more)"},
		"no reference": {is: imported().with(spec(func(g *v1beta1.GitOpsCluster) { g.Spec.PlacementRef = nil })), want: invalid},
		"no name":      {is: imported().with(reference(func(r *corev1.ObjectReference) { r.Name = "" })), want: append(invalid[:1:1], invalid[1])},
		"no Placement": {is: imported().with(none), want: []string{"False: PlacementNotFound", "Unknown: PlacementUnresolved"},
			says: "Placement argocd/all does not exist"},
		"no decision": {is: imported().with(func(s *situation) { s.Decisions = nil }),
			want: []string{"False: PlacementPending", "Unknown: PlacementUnresolved"}},
	})
	for title, change := range map[string]func(*corev1.ObjectReference){
		"kind":       func(r *corev1.ObjectReference) { r.Kind = "PlacementRule" },
		"apiVersion": func(r *corev1.ObjectReference) { r.APIVersion = "v1" },
		"namespace":  func(r *corev1.ObjectReference) { r.Namespace = "kube-system" },
	} {
		s := imported().with(reference(change))
		if !strings.Contains(badReference(s.GitOpsCluster), "spec.placementRef."+title) || PlacementKey(s.GitOpsCluster).Name != "" {
			t.Errorf("%s: %q", title, badReference(s.GitOpsCluster))
		}
	}
}

// claimed sets the marks of the GitOpsCluster.
func claimed(s *situation) {
	s.GitOpsCluster = s.GitOpsCluster.DeepCopy()
	Marks{Finalizer: true, Namespaces: []string{s.namespace()}}.Put(s.GitOpsCluster)
}

func TestUse(t *testing.T) {
	withdrawn := []string{"delete a", "delete b", "delete *v1.ConfigMap", "delete *v1.Role", "delete *v1.RoleBinding", "delete *v1.ConfigMap",
		"False: ArgoNamespaceNotAllowed", "keep "}
	elsewhere := func(edits ...edit) *situation {
		return imported(into("other", true)).with(edits...)
	}
	decides(t, map[string]row{
		"no namespace at all": {is: fresh(into("No Namespace", true)), want: []string{"True: Resolved", "False: ArgoNamespaceInvalid"},
			says: `"No Namespace" cannot be a namespace`},
		"another namespace": {is: fresh(into("other", false)), want: []string{"True: Resolved", "False: ArgoNamespaceNotAllowed"},
			says: "kubectl label namespace other " + apis.LabelArgoNamespace + "=true"},
		"another namespace, with consent": {is: elsewhere(), want: []string{}},
		"consent withdrawn":               {is: elsewhere(into("other", false)), want: withdrawn},
		"consent withdrawn, while Applications are there": {
			is:     elsewhere(permitting("argocd/manager"), trusting("a", "b"), settled, into("other", false), used(false)),
			want:   []string{"delete a", "update b", "False: ArgoNamespaceNotAllowed", "False: ApplicationsRemain"},
			writes: `{"tlsClientConfig":{"insecure":false}}`},
		"consent withdrawn, and no rights": {is: elsewhere(into("other", false), forbidden("other")),
			want: []string{"False: ArgoNamespaceNotAllowed", "False: ArgoNamespaceForbidden", "backoff"}},
		"no rights": {is: fresh(forbidden(home)), want: []string{"True: Resolved", "False: ArgoNamespaceForbidden", "backoff"},
			says: "RoleBinding"},
		"moved back": {is: elsewhere(into(home, false)), want: []string{"claim other,argocd"}},
		"moved back, and claimed": {is: elsewhere(into(home, false), func(s *situation) {
			Marks{Finalizer: true, Namespaces: []string{home, "other"}}.Put(s.GitOpsCluster)
		}), want: []string{"create *v1.ConfigMap", "create *v1.Role", "create *v1.RoleBinding", "create *v1.ConfigMap", "create a", "create b",
			"delete a", "delete b", "delete *v1.ConfigMap", "delete *v1.Role", "delete *v1.RoleBinding", "delete *v1.ConfigMap", "keep argocd"}},
		"moved back, and another stays there": {is: elsewhere(into(home, false), claimed, func(s *situation) {
			Marks{Finalizer: true, Namespaces: []string{home, "other"}}.Put(s.GitOpsCluster)
			s.Argos["other"].Shared = true
			s.Argos[home].Generator = GeneratorObjects(home)
		}), want: []string{"create a", "create b", "delete a", "delete b", "keep argocd"}},
		"moved back, and another has Secrets there": {is: elsewhere(into(home, false), claimed, func(s *situation) {
			Marks{Finalizer: true, Namespaces: []string{home, "other"}}.Put(s.GitOpsCluster)
			theirs := secret("theirs", "c", "https://c", 0, true)
			theirs.Annotations = map[string]string{apis.AnnotationGitOpsClusters: "another/fleet"}
			s.Argos["other"].ours = append(s.Argos["other"].ours, theirs)
			s.Argos[home].Generator = GeneratorObjects(home)
		}), want: []string{"create a", "create b", "delete a", "delete b", "keep argocd"}},
	})
}

func settled(s *situation) { s.settle() }

func TestImport(t *testing.T) {
	hand := secret("hand-made", "a", "https://x", 0, false)
	lost := func(labels map[string]string) edit {
		return func(s *situation) {
			taken := s.Argos[home].mine["a"].DeepCopy()
			taken.Labels = labels
			s.with(func(s *situation) { s.Argos[home] = argoOf(s, s.Argos[home].mine["b"]) })
			s.NoteTaken("a", taken)
		}
	}
	decides(t, map[string]row{
		"a label of the cluster": {is: imported().with(func(s *situation) {
			s.Clusters["a"] = fixture.Cluster("a").URL("https://a.example.com").Label("env", "prod").Obj()
		}), want: []string{"update a"}, writes: "env:prod"},
		"a missing cluster": {is: imported().with(func(s *situation) { s.Clusters["a"] = nil }), want: []string{"False: ClusterNotFound"}},
		"a foreign Secret": {is: fresh(claimed, prepared, secrets(hand)),
			want: []string{"create b", "True: Resolved", "True: Imported", "True: Removed"},
			says: "2 clusters imported; of these, the Argo CD knows 1 cluster by Secrets that do not belong to Towline and stay unchanged: a by hand-made"},
		"a foreign Secret, and a token is wanted": {is: fresh(claimed, prepared, trusting("a", "b"), secrets(hand)),
			want: []string{"create b", "True: Resolved", "True: Imported", "True: Removed"},
			says: "a by hand-made. Towline puts no token into these Secrets: Argo CD pushes with the credentials of the Secrets' owners. To use " +
				"tokens, hand each Secret over: kubectl -n argocd label secret hand-made apps.open-cluster-management.io/acm-cluster=true " +
				"apps.open-cluster-management.io/cluster-name=a"},
		"two foreign Secrets": {is: fresh(claimed, prepared, trusting("a", "b"), secrets(hand, secret("made-too", "b", "https://y", 0, false))),
			want: []string{"True: Resolved", "True: Imported", "True: Removed"},
			says: "hand each Secret over, the first of 2 by: kubectl -n argocd label secret hand-made "},
		"a foreign Secret, and all clusters lack tokens": {is: fresh(claimed, prepared, trusting(), secrets(hand)),
			want: []string{"True: Resolved", "False: CredentialsMissing", "True: Removed"}},
		"a foreign Secret with the cluster's address": {is: fresh(claimed, prepared, secrets(secret("elsewhere", "x", "https://a.example.com", 0, false))),
			want: []string{"create b", "True: Resolved", "False: SecretConflict", "True: Removed"},
			says: "argocd/elsewhere is for cluster a"},
		"a foreign Secret beside Towline's Secret": {is: imported().with(secrets(hand)), want: []string{"False: SecretConflict"}},
		"two of ours": {is: imported().with(secrets(secret("new", "a", "https://a", -5, true))),
			want: []string{"False: SecretConflict"}, says: "Secrets a-cluster-secret and new"},
		"a foreign Secret with the name": {is: fresh(claimed, prepared, func(s *situation) { s.NoteTaken("a", &corev1.Secret{}) }),
			want: []string{"create b", "True: Resolved", "False: SecretConflict", "True: Removed", "backoff"}, says: "has the name that Towline needs"},
		"the name is free again": {is: fresh(claimed, prepared, func(s *situation) { s.NoteTaken("a", nil) }),
			want: []string{"create a", "create b", "True: Resolved", "True: Imported", "True: Removed"}},
		"its labels are lost": {is: imported().with(lost(nil)), want: []string{"update a"}, writes: apis.LabelClusterName + ":a"},
		"the name belongs to a second cluster": {is: imported().with(lost(map[string]string{
			apis.LabelSecretType: apis.SecretTypeCluster, apis.LabelImported: "true", apis.LabelClusterName: "c",
		})), want: []string{"False: SecretConflict", "backoff"}},
		"not in the cache yet": {is: imported().with(func(s *situation) {
			lost(s.Argos[home].mine["a"].Labels)(s)
		}), want: []string{}},
		"refused": {is: fresh(claimed, prepared, func(s *situation) {
			s.NoteRefused(&Step{Object: secret("a", "a", "", 0, true), Cluster: "a"}, errors.New("quota"))
		}),
			want: []string{"create b", "True: Resolved", "False: SecretRejected", "True: Removed", "backoff"}, says: "the hub refused Secret argocd/a: quota"},
		"the generator was edited": {is: imported().with(func(s *situation) {
			s.Argos[home].Generator[0].(*corev1.ConfigMap).Data = nil
			s.Argos[home].Generator[1].(*rbacv1.Role).Rules = nil
			s.Argos[home].Generator[2].(*rbacv1.RoleBinding).Subjects = nil
			s.Argos[home].Generator[3].(*corev1.ConfigMap).Data = nil
		}), want: []string{"update *v1.ConfigMap", "update *v1.Role", "update *v1.RoleBinding", "update *v1.ConfigMap"}},
		"the console's config is not there": {is: imported().with(func(s *situation) {
			s.Argos[home].Generator = s.Argos[home].Generator[:3]
		}), want: []string{"create *v1.ConfigMap"}},
		"the generator is somebody else's": {is: imported().with(func(s *situation) {
			s.Argos[home].Generator[0].(*corev1.ConfigMap).Data = nil
			s.Argos[home].Generator[0].SetLabels(nil)
		}), want: []string{}},
	})
}

// argoOf returns the Argo CD with only the given Secrets.
func argoOf(s *situation, secrets ...*corev1.Secret) *Argo {
	out := NewArgo(secrets)
	out.Generator = s.Argos[home].Generator
	return out
}

func prepared(s *situation) { s.Argos[home].Generator = GeneratorObjects(home) }

func TestTrust(t *testing.T) {
	withAccount := func(name string) func(*v1beta1.GitOpsCluster) {
		return func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = name }
	}
	blank := func(g *v1beta1.GitOpsCluster) {
		g.Spec.CreateBlankClusterSecrets = new(bool)
		*g.Spec.CreateBlankClusterSecrets = true
	}
	noAddress := func(s *situation) { s.Clusters["a"] = fixture.Cluster("a").Obj() }
	gone := func(g *v1beta1.GitOpsCluster) { g.DeletionTimestamp = &metav1.Time{Time: now} }
	decides(t, map[string]row{
		"tokens": {is: imported().with(trusting("a", "b")), want: []string{"update a", "update b"}, writes: `"bearerToken":"t-b"`},
		"a token is missing": {is: fresh(claimed, prepared, trusting("b")),
			want: []string{"create b", "True: Resolved", "False: CredentialsMissing", "True: Removed"}},
		"a token was deleted": {is: imported(trusting("a", "b")).with(trusting("b")), want: []string{"False: CredentialsMissing"}},
		"tokens may not be read": {is: imported(trusting("a", "b")).with(func(s *situation) { s.Tokens[account] = Tokens{Forbidden: true} }),
			want: []string{"False: CredentialsForbidden", "backoff"}},
		"no address": {is: fresh(claimed, prepared, trusting("a", "b"), noAddress),
			want: []string{"create b", "True: Resolved", "False: ServerUnknown", "True: Removed"}},
		"not wanted": {is: imported(trusting("a", "b")).with(spec(withAccount(""))),
			want: []string{"update a", "update b"}, writes: `{"tlsClientConfig":{"insecure":false}}`},
		"blank":                                {is: imported(trusting("a", "b")).with(spec(blank)), want: []string{"update a", "update b"}},
		"a second GitOpsCluster wants a token": {is: imported(trusting("a", "b")).with(beside("z")), want: []string{}},
		"the first of two GitOpsClusters decides": {is: imported(trusting("a", "b")).with(beside("another", withAccount("theirs")), func(s *situation) {
			s.Tokens["theirs"] = s.Tokens[account]
			s.edit(func(secret *corev1.Secret) { secret.Annotations[apis.AnnotationServiceAccount] = account })
		}), want: []string{"False: CredentialsConflict"}, says: "argocd/another imports a with ManagedServiceAccount theirs"},
		"the first GitOpsCluster has no token": {is: imported(trusting("a", "b")).with(beside("another", withAccount("theirs"))),
			want: []string{"False: CredentialsMissing"}},
		"the first GitOpsCluster is being deleted": {
			is: imported(trusting("a", "b")).with(beside("another", withAccount("theirs"), gone)), want: []string{}},
		"no authorities": {is: imported().with(trusting("a", "b"), func(s *situation) { delete(s.Tokens[account].Secrets["b"].Data, "ca.crt") }),
			want: []string{"update a", "False: CredentialsMissing"}, says: "b/manager has no ca.crt"},
		"an invalid name": {is: imported().with(trusting("a", "b"), spec(withAccount("*'; rm"))), want: []string{"False: CredentialsNotAllowed"},
			says: `spec.managedServiceAccountRef: "*'; rm" cannot be the name of a ManagedServiceAccount`},
		"a list for the own namespace": {is: imported().with(trusting("a", "b"), permitting("argocd/manager")), want: []string{"update a", "update b"}},
		"a list for the own namespace without the account": {is: imported().with(trusting("a", "b"), permitting("argocd/reader")),
			want: []string{"False: CredentialsNotAllowed"}},
		"in a second namespace": {is: imported(into("other", true)).with(trusting("a", "b")), want: []string{"False: CredentialsNotAllowed"},
			says: "permit the account by an entry argocd/manager in the annotation " + apis.AnnotationGitOpsAccounts + " of Namespace other"},
		"in a second namespace, and new in that namespace": {is: fresh(into("other", true), claimed, trusting("a", "b"), func(s *situation) {
			s.Argos["other"].Generator = GeneratorObjects("other")
		}), want: []string{"create a", "create b", "True: Resolved", "False: CredentialsNotAllowed", "True: Removed"}},
		"in a second namespace, permitted": {is: imported(into("other", true)).with(trusting("a", "b"), permitting("team/manager, argocd/manager")),
			want: []string{"update a", "update b"}, writes: `"bearerToken":"t-b"`},
		"in a second namespace, withdrawn": {
			is:   imported(into("other", true), trusting("a", "b"), permitting("argocd/manager")).with(permitting("argocd/reader")),
			want: []string{"update a", "update b", "False: CredentialsNotAllowed"}, writes: `{"tlsClientConfig":{"insecure":false}}`},
		"a foreign GitOpsCluster, first by name": {is: imported(trusting("a", "b")).with(
			permitting("a-team/theirs"), consented, beside("a", withAccount("theirs"), of("a-team"))), want: []string{}},
		"a foreign GitOpsCluster, not permitted": {is: imported().with(
			consented, beside("a", withAccount(account), of("a-team")), trusting("a", "b"), spec(withAccount(""))), want: []string{}},
		"a foreign GitOpsCluster, permitted": {is: imported().with(
			consented, permitting("a-team/manager"), beside("a", withAccount(account), of("a-team")), trusting("a", "b"), spec(withAccount(""))),
			want: []string{"update a", "update b"}},
		"a foreign GitOpsCluster, without consent": {is: imported().with(
			permitting("a-team/manager"), beside("a", withAccount(account), of("a-team")), trusting("a", "b"), spec(withAccount(""))), want: []string{}},
		"blank, and a foreign GitOpsCluster wants a token": {is: imported(into("other", true), trusting("a", "b"), permitting("argocd/manager")).with(
			beside("z", blank, of("other"), func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = "other" })),
			want: []string{"update a", "update b", "False: CredentialsConflict"}, says: "other/z imports a without credentials"},
		"a foreign GitOpsCluster wants no token": {
			is: imported().with(secretsTrusted, consented, beside("another", blank, of("a-team"))), want: []string{}},
		"a foreign GitOpsCluster wants no token, permitted": {is: imported().with(
			secretsTrusted, consented, permitting("a-team/any"), beside("another", blank, of("a-team"))), want: []string{"update a", "update b"}},
		"a second GitOpsCluster wants no token": {is: imported().with(secretsTrusted, beside("another", blank)), want: []string{"update a", "update b"}},
	})
}

func consented(s *situation) { s.Consent = true }

// of moves a GitOpsCluster to a namespace.
func of(namespace string) func(*v1beta1.GitOpsCluster) {
	return func(g *v1beta1.GitOpsCluster) { g.Namespace = namespace }
}

// secretsTrusted puts foreign credentials into all Secrets.
func secretsTrusted(s *situation) {
	s.edit(func(secret *corev1.Secret) { secret.Data["config"] = []byte("theirs") })
}

func TestDrop(t *testing.T) {
	moving := func(s *situation) { s.Placement.Status.NumberOfSelectedClusters = 2 }
	decides(t, map[string]row{
		"for long": {is: imported().with(passedOver(time.Hour)), want: []string{"delete b"}, says: "1 cluster imported"},
		"for a moment": {is: imported().with(passedOver(time.Second)),
			want: []string{"False: SelectionUnsettled", "after 59s"}, says: "for 1m0s"},
		"as of now": {is: imported().with(choosing("a")), want: []string{"False: SelectionUnsettled", "after 1m0s"}},
		"with other grace": {is: imported().with(passedOver(time.Second), func(s *situation) { s.Grace = time.Second }),
			want: []string{"delete b"}},
		"a cluster for long, a cluster as of now": {is: imported().with(passedOver(time.Hour), choosing()), want: []string{"delete b", "after 1m0s"}},
		"decisions move": {is: imported().with(passedOver(time.Hour), moving), want: []string{"False: SelectionUnsettled"}},
		"an Application targets the cluster": {is: imported().with(passedOver(time.Hour), used(false)),
			want: []string{"update b", "False: ApplicationsRemain"}, says: "for Application team/web"},
		"an Application still targets the cluster": {is: imported().with(passedOver(time.Hour), used(false), settled), want: []string{}},
		"a pushed Application": {is: imported().with(passedOver(time.Hour), used(true)),
			want: []string{"update b", "False: ApplicationsRemain", "after 1m0s"}},
		"a second GitOpsCluster chooses the cluster": {is: imported().with(beside("z"), passedOver(time.Hour), used(false)),
			want: []string{"update b"}, writes: apis.AnnotationGitOpsClusters + ":argocd/z "},
		"a second GitOpsCluster that is gone": {is: imported().with(beside("z"), passedOver(time.Hour), nobody), want: []string{"delete b"}},
		"chosen again": {is: imported().with(passedOver(time.Hour), used(false), settled, choosing("a", "b")),
			want: []string{"update b", "True: Removed"}, writes: "env:dev"},
	})
}

func nobody(s *situation) {
	for key := range s.Others {
		s.Others[key] = nil
	}
}

// lease sets the older controller's Lease with a renewal of the given age.
func lease(holder string, age time.Duration) edit {
	return func(s *situation) {
		renewed := metav1.NewMicroTime(now.Add(-age))
		s.Lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed}}
	}
}

// writtenByOlder sets a status as written by the older controller.
func writtenByOlder(conditions ...string) edit {
	return func(s *situation) {
		s.GitOpsCluster = s.GitOpsCluster.DeepCopy()
		s.GitOpsCluster.Status = v1beta1.GitOpsClusterStatus{Phase: v1beta1.PhaseSuccessful, Message: "Added managed clusters"}
		for _, c := range conditions {
			meta.SetStatusCondition(&s.GitOpsCluster.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue, Reason: "Success"})
		}
	}
}

func takenOver(s *situation) { s.TakeOver = true }

// TestStandBack checks that Towline writes only a condition while the older controller runs, or may come back.
func TestStandBack(t *testing.T) {
	runs, stopped := lease("pod_1", time.Minute), lease("pod_1", time.Hour)
	theirs := writtenByOlder("Ready", "PlacementResolved", "ClustersRegistered")
	wrote := []string{"True: OlderControllerWrote"}
	afresh := []string{"create *v1.ConfigMap", "create *v1.Role", "create *v1.RoleBinding", "create *v1.ConfigMap", "create a", "create b",
		"True: Resolved", "True: Imported", "True: Removed"}
	decides(t, map[string]row{
		"the older controller runs": {is: fresh(runs), want: []string{"True: OlderControllerRuns", "after 3m34s"},
			says: OlderLease.String()},
		"it runs, and the CRD has no conditions": {is: fresh(runs, func(s *situation) { s.StoodBack = apis.ReasonOlderControllerRuns }),
			want: []string{"after 3m34s"}},
		"it runs, and has the status":                        {is: fresh(theirs, runs), want: []string{"True: OlderControllerRuns", "after 3m34s"}},
		"it runs, despite the flag":                          {is: fresh(takenOver, runs), want: []string{"True: OlderControllerRuns", "after 3m34s"}},
		"the older controller came later":                    {is: imported().with(runs), want: []string{"True: OlderControllerRuns", "after 3m34s"}},
		"the older controller still runs":                    {is: fresh(runs, settled), want: []string{"after 3m34s"}},
		"it runs, and the GitOpsCluster is deleted":          {is: imported().with(runs, deleted), want: []string{"keep nothing", "after 3m34s"}},
		"it runs, and an unclaimed GitOpsCluster is deleted": {is: fresh(runs, deleted), want: []string{"after 3m34s"}},
		"the older controller has stopped":                   {is: fresh(theirs, stopped), want: wrote, says: "--take-over-gitopsclusters"},
		"no Lease can be read":                               {is: fresh(theirs), want: wrote},
		"a status without conditions":                        {is: fresh(writtenByOlder()), want: wrote},
		"it has stopped, with the flag":                      {is: fresh(takenOver, claimed, theirs, stopped), want: afresh},
		"a Lease without a holder":                           {is: imported().with(lease("", 0)), want: []string{}},
		"a Lease, and no status":                             {is: fresh(claimed, stopped), want: afresh},
	})
	s := fresh(takenOver, theirs, stopped, settled)
	for _, c := range s.GitOpsCluster.Status.Conditions {
		if c.Type == "ClustersRegistered" || c.Type == apis.ConditionStandingBack {
			t.Errorf("condition %s is left", c.Type)
		}
	}
	if s.TakeOver = false; len(Decide(s.Facts, s.Options).Stages) > 0 || IsOlders(s.GitOpsCluster) {
		t.Error("it would begin again without the flag")
	}
	if plan := Decide(fresh(runs).Facts, Options{}); len(plan.Events) != 1 || plan.Events[0].Reason != apis.ReasonOlderControllerRuns {
		t.Errorf("told: %v", plan.Events)
	}
	if plan := Decide(imported().with(runs).Facts, Options{}); meta.FindStatusCondition(plan.Status.Conditions, apis.ConditionClustersImported) != nil {
		t.Error("it says what it does not know any more")
	}
}

// TestNamespaces checks the limit of namespaces in a decision. All namespaces get a turn, and Towline finds a
// namespace again after the loss of the annotation.
func TestNamespaces(t *testing.T) {
	named := func(n int) edit {
		return func(s *situation) {
			names := []string{home}
			for i := range n {
				names = append(names, fmt.Sprintf("argo-%03d", i))
				s.Argos[names[i+1]] = NewArgo(nil)
			}
			s.GitOpsCluster = s.GitOpsCluster.DeepCopy()
			Marks{Finalizer: true, Namespaces: names}.Put(s.GitOpsCluster)
		}
	}
	many := imported().with(named(100))
	if got := many.Namespaces(); len(got) != maxNamespaces || !slices.Contains(got, home) {
		t.Errorf("%d namespaces are looked at: %v", len(got), got)
	}
	turns := map[string]bool{}
	for turn := range 101 {
		many.Rotation = turn
		for _, name := range many.Namespaces() {
			turns[name] = true
		}
	}
	if many.Rotation = 0; len(turns) != len(many.marked().Namespaces) {
		t.Errorf("%d namespaces have their turn", len(turns))
	}
	if plan := Decide(many.Facts, many.Options); len(plan.Release.Namespaces) != 101-(maxNamespaces-1) || plan.Status != nil {
		t.Errorf("%d stay noted", len(plan.Release.Namespaces))
	}
	many.settle()
	if got := Marked(many.GitOpsCluster).Namespaces; !slices.Equal(got, []string{home}) {
		t.Errorf("in the end %v", got)
	}
	gone := imported().with(deleted, named(100))
	if plan := Decide(gone.Facts, gone.Options); !plan.Release.Finalizer {
		t.Error("it goes before all were looked at")
	}
	decides(t, map[string]row{
		"one more than the most": {is: fresh(named(maxNamespaces), into("other", true), func(s *situation) {
			for i := range maxNamespaces {
				s.Argos[fmt.Sprintf("argo-%03d", i)] = &Argo{Forbidden: true}
			}
		}), want: []string{"True: Resolved", "False: ArgoNamespacesExceeded", "False: ArgoNamespaceForbidden", "after 10m0s", "backoff"},
			says: "is other, but Towline may already have Secrets in 17 other namespaces"},
		"one that is not noted": {is: imported().with(into("other", true), lostMarks("other"), func(s *situation) { s.Found = []string{home} }),
			want: []string{"claim argocd,other"}},
	})
}

// lostMarks leaves only the given namespace in the annotation.
func lostMarks(namespace string) edit {
	return func(s *situation) {
		s.GitOpsCluster = s.GitOpsCluster.DeepCopy()
		s.GitOpsCluster.Status.ArgoNamespaces = nil
		Marks{Finalizer: true, Namespaces: []string{namespace}}.Put(s.GitOpsCluster)
	}
}

func TestFinalize(t *testing.T) {
	all := []string{"delete a", "delete b", "delete *v1.ConfigMap", "delete *v1.Role", "delete *v1.RoleBinding", "delete *v1.ConfigMap", "keep nothing"}
	decides(t, map[string]row{
		"deleted": {is: imported().with(deleted), want: all},
		"deleted, status pruned": {
			is: imported().with(deleted, spec(func(g *v1beta1.GitOpsCluster) { g.Status.ArgoNamespaces = nil })), want: all},
		"deleted, not noted":               {is: imported().with(deleted, spec(func(g *v1beta1.GitOpsCluster) { g.Annotations = nil })), want: all},
		"an Application targets a cluster": {is: imported().with(deleted, used(false)), want: []string{"delete a", "False: ApplicationsRemain"}},
		"a second GitOpsCluster has the same clusters": {is: imported().with(deleted, beside("z"), func(s *situation) { s.Argos[home].Shared = true }),
			want: []string{"update a", "update b", "keep nothing"}},
		"no rights": {is: imported().with(deleted, forbidden(home)), want: []string{"False: ArgoNamespaceForbidden", "backoff"}},
		"no object was created": {is: fresh(spec(func(g *v1beta1.GitOpsCluster) { g.Finalizers = []string{apis.FinalizerClusterSecrets} }), deleted),
			want: []string{"keep nothing"}},
		"the finalizer was taken": {is: imported().with(deleted, spec(func(g *v1beta1.GitOpsCluster) { g.Finalizers = nil })), want: []string{}},
	})
	t.Run("every gate has blocked", func(t *testing.T) {
		if len(gates) < len(Gates)/2 {
			t.Skip("other tests have not run")
		}
		for _, g := range Gates {
			if !gates[g.Name] {
				t.Errorf("no row has gate %q hold", g.Name)
			}
		}
	})
}

// TestDestroys checks that exactly the writes with a loss for an Argo CD need two decisions.
func TestDestroys(t *testing.T) {
	for title, tc := range map[string]struct {
		is   *situation
		want []string
	}{
		"an import": {fresh(claimed), nil},
		"an update": {imported().with(trusting("a", "b")), nil},
		"a deletion": {imported().with(passedOver(time.Hour)),
			[]string{"delete *v1.Secret/argocd/b-cluster-secret"}},
		"an update that removes labels":   {imported().with(passedOver(time.Hour), used(false)), []string{"update *v1.Secret/argocd/b-cluster-secret"}},
		"an update that removes an owner": {imported().with(passedOver(time.Hour), beside("z")), []string{"update *v1.Secret/argocd/b-cluster-secret"}},
		"the end of a GitOpsCluster": {imported().with(deleted, beside("z"), func(s *situation) { s.Argos[home].Shared = true }),
			[]string{"finish", "keep ", "update *v1.Secret/argocd/a-cluster-secret", "update *v1.Secret/argocd/b-cluster-secret"}},
		"a namespace": {imported(into("other", true)).with(into("other", false), func(s *situation) {
			s.Argos["other"] = NewArgo(nil)
		}), []string{"keep "}},
	} {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			if len(plan.NeedUsers) > 0 {
				tc.is.answer(plan.NeedUsers)
				plan = Decide(tc.is.Facts, tc.is.Options)
			}
			if diff := cmp.Diff(tc.want, plan.Destroys()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestGatesAreDocumented checks that users find each reason in the documentation.
func TestGatesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/gitopscluster.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Gates {
		if !strings.Contains(string(doc), "`"+g.Reason+"`") {
			t.Errorf("docs/gitopscluster.md does not tell of %s (gate %q)", g.Reason, g.Name)
		}
	}
}

func TestSelection(t *testing.T) {
	type decisions []clusterv1beta1.PlacementDecision
	for title, tc := range map[string]struct {
		decisions decisions
		count     int32
		edit      func(*clusterv1beta1.Placement)
		want      []string
		settled   bool
	}{
		"as the status says":                    {decisions{decision1("b", "a"), decision1("c")}, 3, nil, []string{"a", "b", "c"}, true},
		"a cluster moves between two decisions": {decisions{decision1("a"), decision1("c")}, 3, nil, []string{"a", "c"}, false},
		"a cluster is in two decisions":         {decisions{decision1("a", "b"), decision1("b")}, 3, nil, []string{"a", "b"}, false},
		"the status is behind":                  {decisions{decision1("a")}, 0, nil, []string{"a"}, false},
		"a decision that has no cluster yet":    {decisions{decision1("", "a")}, 1, nil, []string{"a"}, true},
		"an empty decision":                     {decisions{decision1()}, 0, nil, nil, true},
		"no ManagedClusterSetBinding": {decisions{decision1()}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions[0].Reason = "NoManagedClusterSetBindings"
		}, nil, false},
		"no binding for the Placement's sets": {decisions{decision1()}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions[0].Reason = "NoIntersection"
		}, nil, false},
		"no cluster matches": {decisions{decision1()}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions[0].Reason = "NoManagedClusterMatched"
		}, nil, true},
		"no condition yet": {decisions{decision1()}, 0, func(p *clusterv1beta1.Placement) { p.Status.Conditions = nil }, nil, false},
		"a foreign scheduler decides": {decisions{decision1("a")}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions = nil
			p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
		}, []string{"a"}, true},
		"the Placement is going": {decisions{decision1("a")}, 1, func(p *clusterv1beta1.Placement) {
			p.DeletionTimestamp = &metav1.Time{Time: now}
		}, []string{"a"}, false},
	} {
		t.Run(title, func(t *testing.T) {
			f := &Facts{Placement: placed(tc.count), Decisions: tc.decisions}
			if tc.edit != nil {
				tc.edit(f.Placement)
			}
			s := f.selection()
			if diff := cmp.Diff(tc.want, s.clusters); diff != "" || s.settled != tc.settled {
				t.Errorf("settled: %t\n%s", s.settled, diff)
			}
		})
	}
}

func TestAddressesAreUnique(t *testing.T) {
	const url = "https://api.example.com"
	a, b := fixture.Cluster("a").URL(url).Obj(), fixture.Cluster("b").URL(url, "https://second.example.com").Obj()
	for title, tc := range map[string]struct {
		there []*corev1.Secret
		a, b  string
	}{
		"the first cluster gets the address": {nil, url, "https://second.example.com"},
		"the owner keeps the address":        {[]*corev1.Secret{secret("b", "b", url, 0, true)}, "https://a-control-plane", url},
		"the older of two Secrets keeps the address": {
			[]*corev1.Secret{secret("a", "a", url, 1, true), secret("b", "b", url, 2, true)}, "https://a-control-plane", url},
		"a foreign Secret keeps the address": {
			[]*corev1.Secret{secret("x", "x", url+"/", 0, false)}, "https://a-control-plane", "https://second.example.com"},
	} {
		t.Run(title, func(t *testing.T) {
			free := NewArgo(tc.there).addresses()
			gotA, _ := free.of(a)
			gotB, _ := free.of(b)
			if gotA != tc.a || gotB != tc.b {
				t.Errorf("a: %s, b: %s", gotA, gotB)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	c := fixture.Cluster("a").URL("https://api.example.com").Obj()
	type secrets []*corev1.Secret
	for title, tc := range map[string]struct {
		there secrets
		says  string
	}{
		"none":                    {secrets{secret("x", "x", "https://x", 0, false), secret("a", "a", "https://a", 0, true)}, ""},
		"the name of the cluster": {secrets{secret("x", "a", "https://x", 0, false)}, "label secret x "},
		"its address":             {secrets{secret("x", "x", "https://api.example.com", 0, false)}, "label secret x "},
		"the name of the Secret":  {secrets{secret(clustersecret.Name("a"), "x", "https://x", 0, false)}, "label secret a-cluster-secret "},
		"two of ours":             {secrets{secret("new", "a", "https://a", 0, true), secret("old", "a", "https://b", 1, true)}, "Secrets old and new"},
	} {
		t.Run(title, func(t *testing.T) {
			if got := NewArgo(tc.there).conflict(c); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestUsers(t *testing.T) {
	pushedTo := func(name, destination string) *fixture.ApplicationBuilder {
		return fixture.Application(name).NoAnnotation(apis.AnnotationSkipReconcile).NoAnnotation(apis.AnnotationCluster).
			NoLabel(apis.LabelPull).Spec(`{"destination":` + destination + `}`)
	}
	s := secret("s", "a", "https://a", 0, true)
	for title, tc := range map[string]struct {
		app  *fixture.ApplicationBuilder
		want *User
	}{
		"for pull":                  {fixture.Application("web").Cluster("a"), &User{}},
		"switched off by its label": {fixture.Application("web").Cluster("a").Label(apis.LabelPull, "false"), &User{}},
		"for pull elsewhere":        {fixture.Application("web").Cluster("b"), nil},
		"pushed by name":            {pushedTo("web", `{"name":"a"}`), &User{Pushed: true}},
		"pushed by address":         {pushedTo("web", `{"server":"https://a/"}`), &User{Pushed: true}},
		"pushed to the hub":         {pushedTo("web", `{"server":"`+apis.InClusterServer+`"}`), nil},
		"pushed nowhere":            {pushedTo("web", `{}`), nil},
		"pushed elsewhere":          {pushedTo("web", `{"name":"b"}`), nil},
		"not to be read":            {pushedTo("web", `[]`), nil},
		"for pull, and pushed here": {pushedTo("web", `{"name":"a"}`).Label(apis.LabelPull, "true"), &User{Pushed: true}},
	} {
		t.Run(title, func(t *testing.T) {
			app, all := tc.app.Obj(), Users{}
			all.Add(app)
			if tc.want != nil {
				tc.want.Application = types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
			}
			if diff := cmp.Diff(tc.want, all.Of(s)); diff != "" || IsPushedTo(app, s) != (tc.want != nil && tc.want.Pushed) {
				t.Errorf("pushed: %t\n%s", IsPushedTo(app, s), diff)
			}
		})
	}
}

// TestNeeds checks which facts the caller must read next.
func TestNeeds(t *testing.T) {
	s := imported(trusting("a", "b")).with(beside("another", func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = "theirs" }))
	if got := s.Accounts(); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("accounts %v", got)
	}
	if got := s.Wanted(); len(got) != 1 || got[0].Name != "another" {
		t.Errorf("others %v", got)
	}
	fresh, theirs := fresh(), secret("a-cluster-secret", "a", "https://a", 0, true)
	theirs.Annotations = map[string]string{apis.AnnotationGitOpsClusters: "argocd/first"}
	fresh.NoteTaken("a", theirs)
	if got := fresh.Wanted(); len(got) != 1 || got[0].Name != "first" {
		t.Errorf("others of a Secret that the cache does not have yet: %v", got)
	}
	if got := s.Dropped(); got != nil {
		t.Errorf("dropped %v", got)
	}
	if got := s.with(choosing("a")).Dropped(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("dropped %v", got)
	}
	s.Placement.Status.NumberOfSelectedClusters = 7
	if got := s.Dropped(); got != nil {
		t.Errorf("dropped, and not settled: %v", got)
	}
	if got := s.with(into("other", true)).Namespaces(); !slices.Equal(got, []string{home, "other"}) {
		t.Errorf("namespaces %v", got)
	}
	if got := s.with(into("other", false)); got.Chosen() != nil || !slices.Equal(got.Namespaces(), []string{home}) {
		t.Errorf("chosen %v, namespaces %v", got.Chosen(), got.Namespaces())
	}
	if s.with(deleted).Chosen() != nil {
		t.Errorf("chosen %v", s.Chosen())
	}
}

// TestMarks checks that foreign finalizers and annotations stay. Invalid namespaces are ignored.
func TestMarks(t *testing.T) {
	g := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"x/y"}, Annotations: map[string]string{"x": "y"}}}
	Marks{Finalizer: true, Namespaces: []string{"b", "a"}}.Put(g)
	g.Annotations[apis.AnnotationArgoNamespaces] += ",,Not/One"
	g.Status.ArgoNamespaces = []string{"a", "c"}
	if diff := cmp.Diff(Marks{Finalizer: true, Namespaces: []string{"a", "b", "c"}}, Marked(g)); diff != "" {
		t.Error(diff)
	}
	Marks{}.Put(g)
	if len(g.Finalizers) != 1 || len(g.Annotations) != 1 {
		t.Errorf("left %v %v", g.Finalizers, g.Annotations)
	}
}

// TestSame checks that exactly the inputs of a decision trigger a decision.
func TestSame(t *testing.T) {
	g := imported().GitOpsCluster
	for title, tc := range map[string]struct {
		change func(*v1beta1.GitOpsCluster)
		same   bool
	}{
		"the status":  {func(g *v1beta1.GitOpsCluster) { g.Status = v1beta1.GitOpsClusterStatus{} }, true},
		"a label":     {func(g *v1beta1.GitOpsCluster) { g.Labels = map[string]string{"x": "y"} }, true},
		"the spec":    {func(g *v1beta1.GitOpsCluster) { g.Generation++ }, false},
		"the marks":   {func(g *v1beta1.GitOpsCluster) { Marks{Finalizer: true}.Put(g) }, false},
		"the end":     {func(g *v1beta1.GitOpsCluster) { g.DeletionTimestamp = &metav1.Time{Time: now} }, false},
		"a finalizer": {func(g *v1beta1.GitOpsCluster) { g.Finalizers = nil }, false},
		"another's hand": {func(g *v1beta1.GitOpsCluster) {
			g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{Type: "ClustersRegistered"})
		}, false},
		"another's UID": {func(g *v1beta1.GitOpsCluster) { g.UID = "x" }, false},
	} {
		after := g.DeepCopy()
		if tc.change(after); SameGitOpsCluster(g, after) != tc.same {
			t.Errorf("%s: same %t", title, !tc.same)
		}
	}
	p, q := placed(1), placed(1)
	if q.Spec.NumberOfClusters = new(int32); !SamePlacement(p, q) || SamePlacement(p, placed(2)) {
		t.Error("of a Placement")
	}
	x, y := decision1("a"), decision1("a", "")
	if !SameDecision(&x, &y) {
		t.Error("of a PlacementDecision that names the same")
	}
	y.Labels = map[string]string{clusterv1beta1.PlacementLabel: "all"}
	if z := decision1("b"); SameDecision(&x, &y) || SameDecision(&x, &z) {
		t.Error("of a PlacementDecision")
	}
}

func TestStatusIsShort(t *testing.T) {
	troubles := map[string]*block{}
	for i := 100; i < 5000; i++ {
		name := fmt.Sprintf("cluster-%04d", i)
		troubles[name] = &block{apis.ReasonSecretConflict, "Secret of " + name + " is not Towline's"}
	}
	want := "problems with cluster-0100, cluster-0101, cluster-0102, cluster-0103, cluster-0104 and 4895 more. " +
		"Secret of cluster-0100 is not Towline's. Secret of cluster-0101 is not Towline's. Secret of cluster-0102 is not Towline's"
	if got := importedAs(100, troubles, nil, nil); got.message != want || got.reason != apis.ReasonSecretConflict {
		t.Error(got)
	}
}

// TestStatusIsWrittenOnce checks that the same result does not change the status later, not even the times.
func TestStatusIsWrittenOnce(t *testing.T) {
	s := imported()
	s.Now = now.Add(time.Hour)
	if plan := Decide(s.Facts, s.Options); plan.Status != nil || len(plan.Events) > 0 {
		t.Errorf("%v %v", plan.Status, plan.Events)
	}
	st := s.GitOpsCluster.Status
	if st.Phase != v1beta1.PhaseSuccessful || len(st.Conditions) != 4 || *st.Clusters != 2 || !st.LastUpdateTime.Time.Equal(now) {
		t.Errorf("%+v", st)
	}
}

// TestFieldsThatAreNotServed checks that a condition names fields with a request, without other effects.
func TestFieldsThatAreNotServed(t *testing.T) {
	policy := spec(func(g *v1beta1.GitOpsCluster) { g.Spec.CreatePolicyTemplate = new(true) })
	addon := func(enabled bool) edit {
		return spec(func(g *v1beta1.GitOpsCluster) { g.Spec.GitOpsAddon = &v1beta1.GitOpsAddonSpec{Enabled: &enabled} })
	}
	agent := spec(func(g *v1beta1.GitOpsCluster) {
		g.Spec.GitOpsAddon = &v1beta1.GitOpsAddonSpec{ArgoCDAgent: &v1beta1.ArgoCDAgentSpec{Enabled: new(true)}}
	})
	decides(t, map[string]row{
		"a policy":  {is: imported().with(policy), want: []string{"True: NotServed"}, says: "act on spec.createPolicyTemplate: Towline"},
		"an add-on": {is: imported().with(addon(true)), want: []string{"True: NotServed"}, says: "act on spec.gitopsAddon: Towline"},
		"an agent":  {is: imported().with(agent), want: []string{"True: NotServed"}, says: "spec.gitopsAddon"},
		"both": {is: imported().with(policy, addon(true)), want: []string{"True: NotServed"},
			says: "spec.createPolicyTemplate and spec.gitopsAddon"},
		"both, told already":    {is: imported(policy, addon(true)), want: []string{}},
		"an add-on that is off": {is: imported(addon(false)), want: []string{}},
	})
	s := imported(policy).with(spec(func(g *v1beta1.GitOpsCluster) { g.Spec.CreatePolicyTemplate = nil }))
	s.settle()
	st := s.GitOpsCluster.Status
	if meta.FindStatusCondition(st.Conditions, apis.ConditionFieldsIgnored) != nil || st.Phase != v1beta1.PhaseSuccessful {
		t.Errorf("%+v", st)
	}
}

// TestPruned checks that Towline writes pruned fields once, and all other fields as usual.
func TestPruned(t *testing.T) {
	s := imported().with(func(s *situation) {
		s.GitOpsCluster = s.GitOpsCluster.DeepCopy()
		s.GitOpsCluster.Status.Clusters, s.GitOpsCluster.Status.ArgoNamespaces = nil, nil
	})
	plan := Decide(s.Facts, s.Options)
	if plan.Clusters == nil || *plan.Clusters != 2 {
		t.Errorf("for the gauge: %v", plan.Clusters)
	}
	if plan.Status == nil || !IsPruned(plan.Status, &s.GitOpsCluster.Status) || Pruning().Reason != apis.ReasonStatusPruned {
		t.Fatalf("it would write %v", plan.Status)
	}
	s.Pruned = true
	if plan := Decide(s.Facts, s.Options); plan.Status != nil {
		t.Errorf("it writes %v", plan.Status)
	}
	s.Decisions = nil
	if plan := Decide(s.Facts, s.Options); plan.Status == nil || plan.Status.ArgoNamespaces == nil {
		t.Errorf("it writes %v, and the CRD may be another one by now", plan.Status)
	}
}

func TestEvents(t *testing.T) {
	s := imported().with(func(s *situation) { s.Decisions = nil })
	plan := Decide(s.Facts, s.Options)
	if len(plan.Events) != 1 || plan.Events[0].Reason != apis.ReasonPlacementPending || plan.Events[0].Type != corev1.EventTypeWarning {
		t.Errorf("told: %v", plan.Events)
	}
	var notes []string
	for _, e := range Done(s.GitOpsCluster, []Step{
		{Verb: Create, Cluster: "b"}, {Verb: Create, Cluster: "a"}, {Verb: Create}, {Verb: Update, Cluster: "c"},
		{Verb: Update, Cluster: "d", Removal: true}, {Verb: Update, Cluster: "e", Removal: true, Frees: true},
		{Verb: Delete, Cluster: "f", Removal: true, Frees: true},
	}) {
		notes = append(notes, e.Note)
	}
	if diff := cmp.Diff([]string{"made 2 clusters known to the Argo CD of namespace argocd: a, b", "removed 2 clusters: e, f"}, notes); diff != "" {
		t.Error(diff)
	}
}
