package dependency

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/work"
)

var now = time.Unix(1_700_000_000, 0).UTC()

const (
	cluster = "cluster1"

	// everything is all that a decision can ask for.
	everything = Need(1<<10 - 1)
)

// situation is what a test decides about.
type situation struct {
	Facts
	Options
}

type edit = func(*situation)

// of starts with a cluster that is there and that nothing was sent to.
func of(key types.NamespacedName, edits ...edit) *situation {
	s := &situation{Options: Options{ArgoCDNamespace: "argocd", ClusterNamespace: "gitops", Projects: true, Objects: true}}
	s.Now, s.Key, s.Known = now, key, everything
	s.Cluster = managedcluster.Facts{Name: cluster, Exists: true, Accepted: true, Ready: true, Server: "https://c1.example.com"}
	for _, change := range edits {
		change(s)
	}
	return s
}

func (s *situation) with(edits ...edit) *situation {
	for _, change := range edits {
		change(s)
	}
	return s
}

// webApp is an Application of project web with a private source.
func webApp() *fixture.ApplicationBuilder {
	return fixture.Application("web").
		Spec(`{"project":"web","source":{"repoURL":"https://git.example.com/web.git"},"destination":{"namespace":"web"}}`)
}

// ofProject is the work that brings project web.
func ofProject(edits ...edit) *situation {
	s := of(ProjectKey(cluster, "web"))
	s.Project = &argocd.AppProject{}
	s.Project.Namespace, s.Project.Name = "argocd", "web"
	if err := json.Unmarshal([]byte(`{"destinations":[{"server":"*","namespace":"*"}],"sourceNamespaces":["team"]}`), &s.Project.Spec); err != nil {
		panic(err)
	}
	return s.with(edits...)
}

// ofCredential is the work that brings the credential of the private source.
func ofCredential(edits ...edit) *situation {
	s := of(CredentialKey(cluster, "git")).with(secrets(secretOf("git", "https://git.example.com/web.git")))
	s.Secret = &s.Secrets[0]
	return s.with(edits...)
}

// ofObjects is the work that brings what an Application names, which is permitted and has a work of its own.
func ofObjects(b *fixture.ApplicationBuilder, edits ...edit) *situation {
	app := b.Obj()
	s := ofProject()
	s.Key, s.Beside = ObjectsKey(work.Key(app)), true
	s.Users = []User{{App: app, Permitted: true, Own: workOf(app)}}
	s.Named = map[Reference]Object{}
	for _, name := range []string{"db", "tls"} {
		secret := secretOf(name, "")
		s.Named[Reference{Kind: SecretKind, Name: name}] = &secret
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "settings"}}
	config.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
	s.Named[Reference{Kind: ConfigMapKind, Name: "settings"}] = config
	return s.with(edits...)
}

func secretOf(name, url string) corev1.Secret {
	s := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}, Data: map[string][]byte{"url": []byte(url)}}
	s.Labels = map[string]string{apis.LabelSecretType: apis.SecretTypeRepository}
	s.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
	return s
}

// templateOf is a Secret for all repositories under an address.
func templateOf(name, url string) corev1.Secret {
	s := secretOf(name, url)
	s.Labels[apis.LabelSecretType] = apis.SecretTypeRepoCreds
	return s
}

// registryApp deploys a chart of a registry, whose address is a host alone.
func registryApp() *fixture.ApplicationBuilder {
	return webApp().Spec(`{"project":"web","source":{"repoURL":"registry.example.com","chart":"web"},"destination":{"namespace":"web"}}`)
}

func secrets(all ...corev1.Secret) edit {
	return func(s *situation) { s.Secrets, s.Credentials = all, ReadCredentials(all) }
}

// naming has the Application name objects.
func naming(objects string) *fixture.ApplicationBuilder {
	return webApp().Annotation(apis.AnnotationWith, objects)
}

// used is one that an Application may need, which is permitted.
func used(b *fixture.ApplicationBuilder, edits ...func(*User)) edit {
	return func(s *situation) {
		u := User{App: b.Obj(), Permitted: true}
		u.Own = workOf(u.App)
		for _, change := range edits {
			change(&u)
		}
		s.Users = append(s.Users, u)
	}
}

func forbidden(u *User) { u.Permitted = false }
func unsent(u *User)    { u.Own = nil }
func pausedApp(u *User) { u.Paused = "this Application" }

// brought lets an older controller have sent the AppProject.
func brought(s *situation) { s.Brought = true }

func sharedArgoCD(s *situation)  { s.Cluster.Hub, s.ClusterArgoCD = true, "argocd" }
func noCluster(s *situation)     { s.Cluster = managedcluster.Facts{} }
func pausedCluster(s *situation) { s.Cluster.Paused = "ManagedCluster cluster1" }
func asked(s *situation)         { s.Known = 0 }
func noSecret(s *situation)      { s.Secret = nil }
func keptSecret(s *situation)    { s.Secret.Annotations = nil }
func missingFor(d time.Duration) edit {
	return func(s *situation) { s.Secret, s.MissingSince = nil, now.Add(-d) }
}

// there is one whose work the agent has applied as the hub would have it now, if something there uses it.
func there(edits ...func(*workv1.ManifestWork)) edit {
	return func(s *situation) {
		sent := situation{Facts: s.Facts, Options: s.Options}
		sent.Work, sent.Known = nil, everything
		sent.Cluster = managedcluster.Facts{Name: cluster, Exists: true, Accepted: true, Ready: true, Server: "https://c1.example.com"}
		sent.ClusterArgoCD = ""
		if sent.Kind() != Objects {
			sent.Users = nil
			sent.with(used(webApp()))
		}
		plan := Decide(sent.Facts, sent.Options)
		if plan.Step == nil {
			panic("nothing would be sent")
		}
		w := plan.Step.Work
		w.UID, w.ResourceVersion, w.Generation = "uid", "7", 1
		applied(w)
		for _, change := range edits {
			change(w)
		}
		s.Work = w
		s.Works = append(s.Works, w)
	}
}

func applied(w *workv1.ManifestWork) { says(w, metav1.ConditionTrue) }
func refusing(w *workv1.ManifestWork) {
	says(w, metav1.ConditionFalse)
	w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{Conditions: []metav1.Condition{
		{Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Message: "conflict with another manager"}}}}
}
func unseen(w *workv1.ManifestWork) { w.Status = workv1.ManifestWorkStatus{} }
func going(w *workv1.ManifestWork)  { w.DeletionTimestamp = &metav1.Time{Time: now} }
func releasedToWeb(w *workv1.ManifestWork) {
	Release(w, []types.NamespacedName{{Namespace: "argocd", Name: "web"}})
}

func says(w *workv1.ManifestWork, status metav1.ConditionStatus) {
	w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: status, ObservedGeneration: w.Generation}}
}

// finalState is what the work says last, applied.
func finalState(w *workv1.ManifestWork) {
	last, err := FinalProject(w)
	if err != nil {
		panic(err)
	}
	w.Spec, w.Generation = last.Spec, 2
	applied(w)
}

// carrying puts works of Applications on the cluster.
func carrying(works ...*workv1.ManifestWork) edit {
	return func(s *situation) { s.Works = append(s.Works, works...) }
}

func workOf(app *argocd.Application) *workv1.ManifestWork {
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		panic(err)
	}
	return w
}

func releasedWork(app *argocd.Application) *workv1.ManifestWork {
	w, err := work.Release(workOf(app), nil)
	if err != nil {
		panic(err)
	}
	return w
}

// requestFor is a work that carries a request in place of the Application.
func requestFor(app *argocd.Application) *workv1.ManifestWork {
	w := workOf(app)
	w.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"web"},"operation":{}}`)
	return w
}

// outline is a plan in words: a line for each write, problem and wait.
func outline(p *Plan) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i, name := range []string{"project", "requested", "objects", "brought"} {
		if p.Need&(1<<i) != 0 {
			add("needs %s", name)
		}
	}
	if p.Need != 0 {
		return out
	}
	if s := p.Step; s != nil {
		add("%s%s", map[bool]string{true: "final "}[s.Final], s.Verb)
	}
	if p.Problem != "" {
		add("%s", p.Problem)
	}
	if p.Hub != nil && p.Hub.Annotations != nil {
		add("refresh")
	}
	if p.Hub != nil && p.Hub.Conditions != nil && p.Problem == "" {
		add("condition goes")
	}
	if p.After != 0 {
		add("after %s", p.After)
	}
	if p.Err != nil {
		add("error")
	}
	return out
}

// row is a case of a table: what is, and what is to be done.
type row struct {
	is   *situation
	want []string

	// says is part of the events, and after what the work is to say of itself.
	says  string
	after func(*workv1.ManifestWork) bool
}

// gates are those that held in a table.
var gates = map[string]bool{}

// decides checks a table.
func decides(t *testing.T, table map[string]row) {
	t.Helper()
	for title, tc := range table {
		t.Run(title, func(t *testing.T) {
			plan := Decide(tc.is.Facts, tc.is.Options)
			if got := outline(&plan); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q; intent %s, trace %v", got, tc.want, plan.Intent, plan.Trace)
			}
			if !slices.ContainsFunc(plan.Events, func(e Event) bool { return strings.Contains(e.Note, tc.says) }) && tc.says != "" {
				t.Errorf("it says %v", plan.Events)
			}
			if tc.after != nil && (plan.Step == nil || !tc.after(plan.Step.Work)) {
				t.Errorf("the work says %+v", plan.Step)
			}
			for _, a := range plan.Trace {
				gates[a.Gate] = gates[a.Gate] || a.Holds != ""
			}
		})
	}
}

// unforced tells whether what others have set stays as it is.
func unforced(w *workv1.ManifestWork) bool { return !Forced(w) }

// orphans and removes tell what the deletion of a work does.
func orphans(w *workv1.ManifestWork) bool {
	return w.Spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan
}
func removes(w *workv1.ManifestWork) bool {
	return w.Spec.DeleteOption != nil && w.Spec.DeleteOption.PropagationPolicy == workv1.DeletePropagationPolicyTypeForeground
}
func namesWeb(w *workv1.ManifestWork) bool {
	return orphans(w) && IsReleasedTo(w, types.NamespacedName{Namespace: "argocd", Name: "web"})
}
func namesNobody(w *workv1.ManifestWork) bool { return len(ReleasedTo(w)) == 0 }
