package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/argocache"
)

// hubPassword is the password of the Git server over HTTPS. Only the hub has the password.
const hubPassword = "password-that-only-the-hub-has"

// secureGit serves the repositories of the fleet's Git server over HTTPS, for the account of the hub only.
type secureGit struct {
	*httptest.Server

	// password is the accepted password. down makes each request fail, and cut ends each answer with content early.
	password  atomic.Value
	down, cut atomic.Bool

	// hanging lets each request wait; nil for a server that answers.
	hanging atomic.Pointer[pause]

	mu   sync.Mutex
	seen []string
}

// newSecureGit returns a running server, which stops with the specs.
func newSecureGit() *secureGit {
	to, err := url.Parse(f.Git.URL(""))
	Expect(err).NotTo(HaveOccurred())
	to.Path = ""
	s := &secureGit{}
	s.password.Store(hubPassword)
	proxy := httputil.NewSingleHostReverseProxy(to)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if password != "" { // git first asks without a password
			s.mu.Lock()
			s.seen = append(s.seen, user+" "+r.UserAgent())
			s.mu.Unlock()
		}
		switch {
		case s.hanging.Load().wait(r) != nil:
		case s.down.Load():
			http.Error(w, "down", http.StatusServiceUnavailable)
		case user != "hub" || password != s.password.Load():
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			r.Header.Del("Authorization")
			if s.cut.Load() && r.Method == http.MethodPost {
				w = &cutOff{ResponseWriter: w}
			}
			proxy.ServeHTTP(w, r)
		}
	}))
	DeferCleanup(s.Close)
	return s
}

// pause is the state of a server that does not answer.
type pause struct {
	over chan struct{}
	held atomic.Int32 // the requests so far
}

// wait waits for the end of the state, or for the end of the request with an error.
func (h *pause) wait(r *http.Request) error {
	if h == nil {
		return nil
	}
	h.held.Add(1)
	select {
	case <-h.over:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// hang makes each request wait, until the returned function is called.
func (s *secureGit) hang() (answer func()) {
	h := &pause{over: make(chan struct{})}
	s.hanging.Store(h)
	return sync.OnceFunc(func() {
		s.hanging.Store(nil)
		close(h.over)
	})
}

// held returns the number of requests that the hanging server has got.
func (s *secureGit) held() int32 {
	if h := s.hanging.Load(); h != nil {
		return h.held.Load()
	}
	return 0
}

// cutOff ends an answer after its first bytes, as a broken connection does.
type cutOff struct {
	http.ResponseWriter
	sent int
}

func (c *cutOff) Write(p []byte) (int, error) {
	const most = 64
	if c.sent += len(p); c.sent > most {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// repo returns the address of a repository, as the user writes it.
func (s *secureGit) repo(name string) string { return s.URL + "/" + name + ".git" }

// address returns the host and port of the server.
func (s *secureGit) address() string { return strings.TrimPrefix(s.URL, "https://") }

// clients returns the accounts and programs of all requests so far.
func (s *secureGit) clients() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// trustOnHub gives the hub's Argo CD the certificate and a password of the server.
func (s *secureGit) trustOnHub(ctx context.Context, password string) {
	GinkgoHelper()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	manifest, err := json.Marshal(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: sourceproxy.CertificatesConfigMap},
		Data:       map[string]string{"127.0.0.1": string(certificate)},
	})
	Expect(err).NotTo(HaveOccurred())
	apply(ctx, string(manifest))
	manifest, err = json.Marshal(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: argocdNamespace, Name: "secure-git", Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeRepoCreds},
		},
		StringData: map[string]string{"url": s.URL, "username": "hub", "password": password},
	})
	Expect(err).NotTo(HaveOccurred())
	apply(ctx, string(manifest))
}

// push tells the hub's argocd-server about a commit on the branch main, as GitHub's webhook does.
func (s *secureGit) push(ctx context.Context, repo, sha string, files ...string) {
	GinkgoHelper()
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "after": sha, "before": strings.Repeat("0", 40),
		"repository": map[string]any{"html_url": s.URL + "/" + repo, "default_branch": "main"},
		"commits":    []any{map[string]any{"id": sha, "modified": files, "added": []string{}, "removed": []string{}}},
	})
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Hub.ArgoCDURL()+"/api/webhook", bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", "push")
	resp, err := http.DefaultClient.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(resp.StatusCode).To(Equal(http.StatusOK), string(text))
}

// sourceSpec returns the spec of an Application with sources, which deploys into a namespace.
func sourceSpec(namespace string, sources ...map[string]any) string {
	GinkgoHelper()
	var out map[string]any
	Expect(json.Unmarshal([]byte(spec(".", namespace)), &out)).To(Succeed())
	out["source"] = sources[0]
	if len(sources) > 1 {
		delete(out, "source")
		out["sources"] = sources
	}
	data, err := json.Marshal(out)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// from returns a source: a folder on the branch main of a repository.
func from(repo, path string) map[string]any {
	return map[string]any{"repoURL": repo, "path": path, "targetRevision": "main"}
}

// useHelm puts Helm into the folder of the fleet's programs, for Argo CD's repo servers.
func useHelm(ctx context.Context) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile="+filepath.Join(towline.Root(), ".ci", "tools", "helm4", "go.mod"), "-n", "helm")
	cmd.Dir = towline.Root()
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred())
	_ = os.Remove(f.Program("helm"))
	Expect(os.Symlink(strings.TrimSpace(string(out)), f.Program("helm"))).To(Succeed())
}

// openDoor runs the agent of a cluster with its door, and gives the cluster's Argo CD the agent's authority, as the
// kubelet does.
func openDoor(ctx context.Context, on string) (agent *towline.Agent, address string) {
	GinkgoHelper()
	ports, err := f.FreePorts(1)
	Expect(err).NotTo(HaveOccurred())
	address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	_, err = f.Hub.Kubectl(ctx, "annotate", "--overwrite", "namespace", on, apis.AnnotationSourceAddress+"=https://"+address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		_, err := f.Hub.Kubectl(ctx, "annotate", "namespace", on, apis.AnnotationSourceAddress+"-")
		Expect(err).NotTo(HaveOccurred())
	})
	agent, err = towline.RunAgent(ctx, f, binary, on, "door-"+on, "--source-bind-address="+address, "--source-address=https://"+address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(agent.Stop)
	trusted := configMapOn(argocdNamespace, sourceproxy.CertificatesConfigMap)
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		keys, err := read(cluster[on], secretOn(towline.AddOnNamespace, sourceproxy.KeysSecret))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(keys).NotTo(BeNil())
		found, err := read(cluster[on], trusted)(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(HaveField("Data", HaveKeyWithValue("127.0.0.1", string(keys.Data["ca.crt"]))), "an earlier agent leaves an entry")
		trusted = found
	}).Should(Succeed())
	Expect(f.Cluster(on).MountCertificates(trusted.Data)).To(Succeed())
	DeferCleanup(func() { Expect(f.Cluster(on).MountCertificates(nil)).To(Succeed()) })
	Eventually(ctx, read(cluster[on], secretOn(argocdNamespace, sourceproxy.CredentialsSecret))).Should(
		HaveField("Data", HaveKeyWithValue("url", []byte("https://"+address+"/"))))
	return agent, address
}

// isolate moves the repo server of a cluster into a network namespace, until the specs end. There, the repo server reaches
// only its Redis and the agent's door. isolate returns false without the rights of root.
func isolate(ctx context.Context, on, door string) (*fleet.Netns, bool) {
	GinkgoHelper()
	if os.Geteuid() != 0 {
		return nil, false
	}
	ns, back, err := f.Cluster(on).IsolateRepoServer(ctx, door)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) { Expect(back(ctx)).To(Succeed()) })
	return ns, true
}

// forget restarts the repo server of a cluster without its clones and without the answers in Redis. The repo server then has
// to fetch every repository again.
func forget(ctx context.Context, on string) {
	GinkgoHelper()
	Expect(f.Cluster(on).EmptyRepoServer(ctx)).To(Succeed())
	redis := argocache.NewRedis(argocache.Address{HostPort: f.Cluster(on).RedisAddress()})
	for _, answers := range []string{"mfst|*", "git-refs|*"} {
		Expect(redis.EachKey(ctx, answers, func(key string) error { return redis.RemoveAll(ctx, key) })).To(Succeed())
	}
}

// clonesOn returns a function that reads the addresses of the repositories that the repo server of a cluster has cloned.
func clonesOn(on string) func() (string, error) {
	return func() (string, error) {
		addresses, err := f.Cluster(on).Clones()
		return strings.Join(addresses, " "), err
	}
}

// operationOn returns a function that reads the requested operation of an Application on a cluster; empty for none.
func operationOn(on, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		app, err := read(cluster[on], named(name))(ctx)
		if err != nil || app == nil || app.Operation == nil {
			return "", err
		}
		return string(app.Operation.Raw), nil
	}
}

// askHub gets a path of the hub with the identity of a cluster's agent, and returns the code and the text.
func askHub(ctx context.Context, agentOf, path string) (int, string) {
	GinkgoHelper()
	return requestAs(ctx, agentOf, http.MethodGet, path, http.NoBody)
}

// requestAs sends a request to the hub with the identity of a cluster's agent, and returns the code and the text.
func requestAs(ctx context.Context, agentOf, method, path string, body io.Reader) (int, string) {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", towline.AddOnKubeconfig(f, agentOf))
	Expect(err).NotTo(HaveOccurred())
	client, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, method, config.Host+path, body)
	Expect(err).NotTo(HaveOccurred())
	resp, err := client.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, string(text)
}
