package envtest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/agent"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
)

// grant gives a user rules in a namespace.
func grant(t *testing.T, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	name := metav1.ObjectMeta{Namespace: namespace, Name: "towline-agent"}
	create(t, &rbacv1.Role{ObjectMeta: name, Rules: rules})
	create(t, &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

func named(resource, name string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: verbs}
}

// sourceAgent is an agent that serves sources, with the rights of deploy/components/agent-source.
type sourceAgent struct {
	cluster string
	options sourceproxy.Options
	config  *rest.Config
}

// run starts the agent, and returns a function that stops the agent.
func (a *sourceAgent) run(t *testing.T) (stop func()) {
	t.Helper()
	s := runtime.NewScheme()
	if err := agent.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(a.config, ctrl.Options{
		Scheme: s, Cache: agent.ClusterCache([]string{a.options.ArgoCDNamespace}),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: settings(), MapperProvider: knownMapper,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	onHub, err := agent.NewHub(hub, s, a.cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Add(ctx, mgr, onHub, agent.Options{Namespace: a.cluster, Source: a.options}); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if err := controllers.Start(ctx, mgr); err != nil {
			t.Errorf("the agent's manager: %v", err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(stop)
	return stop
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// ask sends a request as Argo CD would, by the objects for Argo CD.
func (a *sourceAgent) ask(ctx context.Context, credentials *corev1.Secret, certificates string) (int, string, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(certificates))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, string(credentials.Data["url"])+"apps/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return 0, "", err
	}
	r.SetBasicAuth(string(credentials.Data["username"]), string(credentials.Data["password"]))
	over := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	resp, err := over.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// TestSourceObjects: the agent fills the empty objects of the add-on, repairs changed objects, keeps its password and
// its authority over a restart, and needs no right beyond the names of the objects.
func TestSourceObjects(t *testing.T) {
	unshared(t)
	g := NewWithT(t)
	c, home, own := cluster(t), namespace(t, unique("argocd")), namespace(t, unique("agents"))
	user, address := "system:serviceaccount:"+own+":towline-agent", freeAddress(t)
	grant(t, own, user, named("secrets", sourceproxy.KeysSecret, "get", "list", "watch", "update"))
	grant(t, home, user,
		named("secrets", sourceproxy.CredentialsSecret, "get", "list", "watch", "update"),
		named("configmaps", sourceproxy.CertificatesConfigMap, "get", "list", "watch", "patch"),
		rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"applications"}, Verbs: []string{"get", "list", "watch"}})
	a := &sourceAgent{cluster: c.Name, config: rest.CopyConfig(hub), options: sourceproxy.Options{
		BindAddress: address, Address: "https://" + address, Namespace: own, ArgoCDNamespace: home,
	}}
	a.config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	stop := a.run(t)

	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: sourceproxy.KeysSecret}}
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: sourceproxy.CredentialsSecret}}
	certificates := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: sourceproxy.CertificatesConfigMap},
		Data:       map[string]string{"git.example.com": "another authority"},
	}
	for _, obj := range []client.Object{keys.DeepCopy(), credentials.DeepCopy(), certificates.DeepCopy()} {
		create(t, obj)
	}
	var password, authority string
	g.Eventually(func(g Gomega) {
		get(t, credentials)
		get(t, certificates)
		password, authority = string(credentials.Data["password"]), certificates.Data["127.0.0.1"]
		g.Expect(credentials.Labels).To(HaveKeyWithValue("argocd.argoproj.io/secret-type", "repo-creds"))
		g.Expect(credentials.Data).To(And(HaveLen(4), HaveKeyWithValue("url", []byte("https://"+address+"/")),
			HaveKeyWithValue("type", []byte("git")), HaveKeyWithValue("username", []byte(sourceproxy.Username))))
		g.Expect(password).NotTo(BeEmpty())
		g.Expect(authority).To(ContainSubstring("BEGIN CERTIFICATE"))
		g.Expect(certificates.Data).To(HaveKeyWithValue("git.example.com", "another authority"))
		code, text, err := a.ask(t.Context(), credentials, authority)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(code).To(Equal(http.StatusNotFound), "this hub does not serve sources")
		g.Expect(text).To(ContainSubstring("not find the requested resource"))
	}, soon, tick).Should(Succeed())

	versions := func() string {
		return fmt.Sprint(get(t, keys).ResourceVersion, get(t, credentials).ResourceVersion, get(t, certificates).ResourceVersion)
	}
	before := versions()
	g.Consistently(versions, time.Second, tick).Should(Equal(before), "the agent writes without a reason")

	unchanged := func(why string) {
		t.Helper()
		g.Eventually(func(g Gomega) {
			fresh := get(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: sourceproxy.CredentialsSecret}})
			g.Expect(fresh.Labels).To(HaveKeyWithValue("argocd.argoproj.io/secret-type", "repo-creds"))
			g.Expect(fresh.Data).To(And(HaveLen(4), HaveKeyWithValue("password", []byte(password))))
			entries := get(t, certificates.DeepCopy()).Data
			g.Expect(entries).To(HaveKeyWithValue("127.0.0.1", authority))
			g.Expect(entries).To(HaveKeyWithValue("git.example.com", "another authority"))
			stored := get(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: sourceproxy.KeysSecret}})
			g.Expect(stored.Data).To(HaveKeyWithValue("password", []byte(password)))
			g.Expect(stored.Data).To(HaveKeyWithValue("ca.crt", []byte(authority)))
			code, _, err := a.ask(t.Context(), fresh, entries["127.0.0.1"])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(code).To(Equal(http.StatusNotFound))
		}, soon, tick).Should(Succeed(), why)
	}
	edit(t, credentials, func(s *corev1.Secret) {
		s.Labels, s.Data["password"], s.Data["insecure"] = nil, []byte("another"), []byte("true")
	})
	unchanged("changed credentials")
	edit(t, certificates, func(c *corev1.ConfigMap) { delete(c.Data, "127.0.0.1") })
	unchanged("a removed authority")
	edit(t, certificates, func(c *corev1.ConfigMap) { c.Data["127.0.0.1"] = "another" })
	unchanged("another authority")
	edit(t, keys, func(s *corev1.Secret) { s.Data = nil })
	unchanged("removed keys")
	for _, removed := range []*corev1.Secret{keys, credentials} {
		if err := k8s.Delete(t.Context(), removed); err != nil {
			t.Fatal(err)
		}
		create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: removed.Namespace, Name: removed.Name}})
	}
	unchanged("removed Secrets, which the add-on brings back")
	stop()
	edit(t, credentials, func(s *corev1.Secret) { s.Data["password"] = []byte("another") })
	a.run(t)
	unchanged("a restart")
}
