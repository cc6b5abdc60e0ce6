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

	// everything is the set of all facts.
	everything = FactSet(1<<10 - 1)
)

// situation holds the inputs of a decision.
type situation struct {
	Facts
	Options
}

type edit = func(*situation)

// of returns a situation with an existing cluster, without works on the cluster.
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

// webApp returns an Application of project web with a private source.
func webApp() *fixture.ApplicationBuilder {
	return fixture.Application("web").
		Spec(`{"project":"web","source":{"repoURL":"https://git.example.com/web.git"},"destination":{"namespace":"web"}}`)
}

// ofProject returns a situation for the work of project web.
func ofProject(edits ...edit) *situation {
	s := of(ProjectKey(cluster, "web"))
	s.Project = &argocd.AppProject{}
	s.Project.Namespace, s.Project.Name = "argocd", "web"
	if err := json.Unmarshal([]byte(`{"destinations":[{"server":"*","namespace":"*"}],"sourceNamespaces":["team"]}`), &s.Project.Spec); err != nil {
		panic(err)
	}
	return s.with(edits...)
}

// ofCredential returns a situation for the work of the private source's credential.
func ofCredential(edits ...edit) *situation {
	s := of(CredentialKey(cluster, "git")).with(secrets(secretOf("git", "https://git.example.com/web.git")))
	s.Secret = &s.Secrets[0]
	return s.with(edits...)
}

// ofObjects returns a situation for the objects of a permitted Application with its own work.
func ofObjects(b *fixture.ApplicationBuilder, edits ...edit) *situation {
	app := b.Obj()
	s := ofProject()
	s.Key, s.OwnWorkExists = ObjectsKey(work.Key(app)), true
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

// templateOf returns a Secret for all repositories under an address.
func templateOf(name, url string) corev1.Secret {
	s := secretOf(name, url)
	s.Labels[apis.LabelSecretType] = apis.SecretTypeRepoCreds
	return s
}

// registryApp returns an Application with a chart from a registry. The address of the registry is only a host.
func registryApp() *fixture.ApplicationBuilder {
	return webApp().Spec(`{"project":"web","source":{"repoURL":"registry.example.com","chart":"web"},"destination":{"namespace":"web"}}`)
}

func secrets(all ...corev1.Secret) edit {
	return func(s *situation) { s.Secrets, s.Credentials = all, ReadCredentials(all) }
}

// naming returns an Application with objects in its annotation.
func naming(objects string) *fixture.ApplicationBuilder {
	return webApp().Annotation(apis.AnnotationWith, objects)
}

// used adds a permitted Application that may need the dependency.
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

// brought sets that an older controller has sent the AppProject.
func brought(s *situation) { s.SentByOlder = true }

func sharedArgoCD(s *situation)  { s.Cluster.Hub, s.ClusterArgoCD = true, "argocd" }
func noCluster(s *situation)     { s.Cluster = managedcluster.Facts{} }
func pausedCluster(s *situation) { s.Cluster.Paused = "ManagedCluster cluster1" }
func asked(s *situation)         { s.Known = 0 }
func noSecret(s *situation)      { s.Secret = nil }
func keptSecret(s *situation)    { s.Secret.Annotations = nil }
func missingFor(d time.Duration) edit {
	return func(s *situation) { s.Secret, s.MissingSince = nil, now.Add(-d) }
}

// there adds an applied work with the present content of the hub, as if an Application used the dependency.
func there(edits ...func(*workv1.ManifestWork)) edit {
	return func(s *situation) {
		sent := situation{Facts: s.Facts, Options: s.Options}
		sent.Work, sent.Known = nil, everything
		sent.Cluster = managedcluster.Facts{Name: cluster, Exists: true, Accepted: true, Ready: true, Server: "https://c1.example.com"}
		sent.ClusterArgoCD = ""
		if sent.Kind() != Objects {
			sent.Users = nil
			sent.with(used(webApp()))
			if sent.Kind() == HostKeys {
				sent.Users = nil
				sent.with(used(sshApp()))
			}
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

// finalState sets the last state of the work, applied by the agent.
func finalState(w *workv1.ManifestWork) {
	last, err := FinalProject(w)
	if err != nil {
		panic(err)
	}
	w.Spec, w.Generation = last.Spec, 2
	applied(w)
}

// carrying adds works of Applications to the cluster.
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

// requestFor returns a work with a request in place of the Application.
func requestFor(app *argocd.Application) *workv1.ManifestWork {
	w := workOf(app)
	w.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"web"},"operation":{}}`)
	return w
}

// outline returns a plan in words: a line for each write, problem and wait.
func outline(p *Plan) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i, name := range []string{"project", "requested", "objects", "older"} {
		if p.Required&(1<<i) != 0 {
			add("needs %s", name)
		}
	}
	if p.Required != 0 {
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

// row is a test case: a situation and the expected plan.
type row struct {
	is   *situation
	want []string

	// says must be part of an event's note, and after must hold for the planned work.
	says  string
	after func(*workv1.ManifestWork) bool
}

// gates are the gates that have blocked in a table.
var gates = map[string]bool{}

// TestMain makes each gate note its blocks.
func TestMain(m *testing.M) {
	for i := range Gates {
		g := &Gates[i]
		check := g.Check
		g.Check = func(d *decision) answer {
			a := check(d)
			gates[g.Name] = gates[g.Name] || a.Words != ""
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
			if got := outline(&plan); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q; intent %s", got, tc.want, plan.Intent)
			}
			if !slices.ContainsFunc(plan.Events, func(e Event) bool { return strings.Contains(e.Note, tc.says) }) && tc.says != "" {
				t.Errorf("it says %v", plan.Events)
			}
			if tc.after != nil && (plan.Step == nil || !tc.after(plan.Step.Work)) {
				t.Errorf("the work says %+v", plan.Step)
			}
		})
	}
}

// unforced reports whether a work leaves the fields of other owners as is.
func unforced(w *workv1.ManifestWork) bool { return !Forced(w) }

// orphans and removes report the effect of a work's deletion.
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
