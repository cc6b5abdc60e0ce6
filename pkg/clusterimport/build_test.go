package clusterimport

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
)

var now = time.Unix(1_700_000_000, 0).UTC()

const (
	home    = "argocd"
	account = "manager"
)

// situation holds the inputs of a decision.
type situation struct {
	Facts
	Options

	// apps are the Applications for the Secrets in Plan.Ask, by cluster.
	apps map[string]*User
}

type edit = func(*situation)

// imported returns a GitOpsCluster whose clusters a and b have Secrets. The edits apply before the import.
func imported(before ...edit) *situation {
	s := fresh(before...)
	s.settle()
	return s
}

// fresh returns a GitOpsCluster before the first decision.
func fresh(edits ...edit) *situation {
	s := &situation{apps: map[string]*User{}}
	g := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "fleet", UID: "g", Generation: 1}}
	g.Spec.ArgoServer.ArgoNamespace = home
	g.Spec.PlacementRef = &corev1.ObjectReference{Kind: "Placement", APIVersion: "cluster.open-cluster-management.io/v1beta1", Name: "all"}
	s.Now, s.GitOpsCluster, s.Argos = now, g, map[string]*Argo{home: NewArgo(nil)}
	s.Clusters, s.Others = map[string]*clusterv1.ManagedCluster{}, map[types.NamespacedName]*v1beta1.GitOpsCluster{}
	for _, name := range []string{"a", "b"} {
		s.Clusters[name] = fixture.Cluster(name).URL("https://"+name+".example.com").Label("env", "dev").Obj()
	}
	return s.with(choosing("a", "b")).with(edits...)
}

func (s *situation) with(edits ...edit) *situation {
	for _, change := range edits {
		change(s)
	}
	return s
}

// settle decides and applies plans until a plan is empty.
func (s *situation) settle() {
	for version := 1; version < 20; version++ {
		plan := Decide(s.Facts, s.Options)
		if len(plan.NeedUsers) > 0 {
			s.answer(plan.NeedUsers)
			continue
		}
		if plan.Claim == nil && plan.Release == nil && plan.Status == nil && len(plan.Stages) == 0 {
			return
		}
		s.carryOut(plan, version)
	}
	panic("it does not come to rest")
}

func (s *situation) answer(secrets []*corev1.Secret) {
	if s.Users == nil {
		s.Users = map[types.NamespacedName]*User{}
	}
	for _, secret := range secrets {
		s.Users[keyOf(secret)] = s.apps[clustersecret.Cluster(secret)]
	}
}

func (s *situation) carryOut(plan Plan, version int) {
	g := s.GitOpsCluster.DeepCopy()
	for _, marks := range []*Marks{plan.Claim, plan.Release} {
		if marks != nil {
			marks.Put(g)
		}
	}
	if plan.Status != nil {
		g.Status = *plan.Status
	}
	s.GitOpsCluster = g
	for _, stage := range plan.Stages {
		for _, step := range stage {
			if step.Object != nil {
				step.Object.SetUID(types.UID(kindOf(step.Object) + "/" + step.Object.GetNamespace() + "/" + step.Object.GetName()))
				step.Object.SetResourceVersion(fmt.Sprint(version))
			}
		}
		s.Note(stage)
	}
}

// choosing lets the Placement choose the clusters.
func choosing(clusters ...string) edit {
	return func(s *situation) {
		s.Placement = placed(int32(len(clusters)))
		s.Decisions = []clusterv1beta1.PlacementDecision{decision1(clusters...)}
	}
}

func placed(selected int32) *clusterv1beta1.Placement {
	p := &clusterv1beta1.Placement{}
	p.Status.NumberOfSelectedClusters = selected
	p.Status.Conditions = []metav1.Condition{{
		Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue, Reason: "AllDecisionsScheduled",
	}}
	return p
}

func decision1(clusters ...string) clusterv1beta1.PlacementDecision {
	d := clusterv1beta1.PlacementDecision{}
	for _, c := range clusters {
		d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
	}
	return d
}

// passedOver lets the Placement choose only a. Cluster b is unchosen since a while.
func passedOver(since time.Duration) edit {
	return func(s *situation) {
		s.with(choosing("a"))
		s.Since = map[string]time.Time{"b": now.Add(-since)}
	}
}

// spec changes the GitOpsCluster.
func spec(change func(*v1beta1.GitOpsCluster)) edit {
	return func(s *situation) {
		s.GitOpsCluster = s.GitOpsCluster.DeepCopy()
		s.GitOpsCluster.Generation++
		change(s.GitOpsCluster)
	}
}

var deleted = spec(func(g *v1beta1.GitOpsCluster) { g.DeletionTimestamp = &metav1.Time{Time: now} })

// into lets the GitOpsCluster name the Argo CD of a different namespace, with or without consent.
func into(namespace string, consent bool) edit {
	return func(s *situation) {
		s.with(spec(func(g *v1beta1.GitOpsCluster) { g.Spec.ArgoServer.ArgoNamespace = namespace }))
		if s.Consent = consent; s.Argos[namespace] == nil {
			s.Argos[namespace] = NewArgo(nil)
		}
	}
}

// permitting lets the namespace of the Argo CD permit accounts.
func permitting(list string) edit { return func(s *situation) { s.Permitted = ReadAccounts(list) } }

// used lets an Application keep the Secret of b.
func used(pushed bool) edit {
	return func(s *situation) {
		s.apps["b"] = &User{Application: types.NamespacedName{Namespace: "team", Name: "web"}, Pushed: pushed}
	}
}

func forbidden(namespace string) edit {
	return func(s *situation) { s.Argos[namespace] = &Argo{Forbidden: true} }
}

// beside adds a second GitOpsCluster as owner of all Secrets.
func beside(name string, changes ...func(*v1beta1.GitOpsCluster)) edit {
	return func(s *situation) {
		other := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}}
		other.Spec.ArgoServer.ArgoNamespace = home
		for _, change := range changes {
			change(other)
		}
		key := types.NamespacedName{Namespace: other.Namespace, Name: name}
		s.Others[key] = other
		s.edit(func(secret *corev1.Secret) {
			owners := append(strings.Split(secret.Annotations[apis.AnnotationGitOpsClusters], ","), key.String())
			slices.Sort(owners)
			secret.Annotations[apis.AnnotationGitOpsClusters] = strings.Join(owners, ",")
		})
	}
}

// edit changes all Secrets.
func (s *situation) edit(change func(*corev1.Secret)) {
	for namespace, argo := range s.Argos {
		var out []*corev1.Secret
		for _, secret := range argo.secrets {
			secret = secret.DeepCopy()
			change(secret)
			out = append(out, secret)
		}
		is := NewArgo(out)
		is.Forbidden, is.Generator, is.Shared = argo.Forbidden, argo.Generator, argo.Shared
		s.Argos[namespace] = is
	}
}

// secrets adds Secrets to the Argo CD.
func secrets(all ...*corev1.Secret) edit {
	return func(s *situation) {
		argo := NewArgo(append(s.Argos[home].secrets, all...))
		argo.Generator = s.Argos[home].Generator
		s.Argos[home] = argo
	}
}

// secret returns a Secret from the cache, of Towline's cluster or a foreign Secret.
func secret(name, cluster, server string, age int, ours bool) *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{"name": []byte(cluster), "server": []byte(server)}}
	s.Namespace, s.Name, s.CreationTimestamp = home, name, metav1.Unix(1_700_000_000-int64(age), 0)
	s.Labels = map[string]string{apis.LabelSecretType: apis.SecretTypeCluster}
	if ours {
		s.Labels[apis.LabelImported], s.Labels[apis.LabelClusterName] = "true", cluster
	}
	return s
}

// trusting lets the GitOpsCluster want tokens. Only the given clusters have a token.
func trusting(clusters ...string) edit {
	return func(s *situation) {
		s.with(spec(func(g *v1beta1.GitOpsCluster) { g.Spec.ManagedServiceAccountRef = account }))
		s.Tokens = map[string]Tokens{account: {Secrets: map[string]*corev1.Secret{}}}
		for _, c := range clusters {
			s.Tokens[account].Secrets[c] = &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: account}, Data: map[string][]byte{"token": []byte("t-" + c), "ca.crt": []byte("CA")}}
		}
	}
}

// outline returns a plan in words: a line for each write, condition change and wait.
func outline(s *situation, p *Plan) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.Claim != nil {
		add("claim %s", strings.Join(p.Claim.Namespaces, ","))
	}
	for _, stage := range p.Stages {
		for _, step := range stage {
			what := step.Cluster
			if what == "" {
				what = kindOf(step.Target())
			}
			add("%s %s", step.Verb, what)
		}
	}
	if p.Status != nil {
		for _, c := range p.Status.Conditions {
			was := meta.FindStatusCondition(s.GitOpsCluster.Status.Conditions, c.Type)
			if c.Type != apis.ConditionReady && (was == nil || was.Status != c.Status || was.Reason != c.Reason) {
				add("%s: %s", c.Status, c.Reason)
			}
		}
	}
	if p.Release != nil {
		add("keep %s%s", strings.Join(p.Release.Namespaces, ","), map[bool]string{false: "nothing"}[p.Release.Finalizer])
	}
	if p.After != 0 {
		add("after %s", p.After)
	}
	if p.Backoff {
		add("backoff")
	}
	return out
}

// row is a test case: a situation and the expected plan.
type row struct {
	is   *situation
	want []string

	// says must be part of a condition. writes must be part of the written Secrets.
	says, writes string
}

// gates are the gates that have blocked in a table.
var gates = map[string]bool{}

// TestMain makes each gate note its blocks.
func TestMain(m *testing.M) {
	for i := range Gates {
		g := &Gates[i]
		check := g.Check
		g.Check = func(d *decision, on subject) answer {
			a := check(d, on)
			if a.Words != "" {
				gates[g.Name] = true
			}
			return a
		}
	}
	m.Run()
}

// decides checks the cases of a table.
func decides(t *testing.T, table map[string]row) {
	t.Helper()
	for title, tc := range table {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			if len(plan.NeedUsers) > 0 {
				tc.is.answer(plan.NeedUsers)
				plan = Decide(tc.is.Facts, tc.is.Options)
			}
			if got := outline(tc.is, &plan); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.says != "" && (plan.Status == nil || !slices.ContainsFunc(plan.Status.Conditions, func(c metav1.Condition) bool {
				return strings.Contains(c.Message, tc.says)
			})) {
				t.Errorf("it says %+v", plan.Status)
			}
			if written := writtenBy(plan); !strings.Contains(written, tc.writes) {
				t.Errorf("it writes %s", written)
			}
		})
	}
}

// writtenBy returns the text of the Secrets written by a plan.
func writtenBy(p Plan) string {
	var b strings.Builder
	for _, stage := range p.Stages {
		for _, step := range stage {
			if s, is := step.Object.(*corev1.Secret); is {
				fmt.Fprintf(&b, "%s labels=%v annotations=%v data=", s.Name, s.Labels, s.Annotations)
				for _, key := range []string{"name", "server", "config"} {
					fmt.Fprintf(&b, "%s ", s.Data[key])
				}
			}
		}
	}
	return b.String()
}
