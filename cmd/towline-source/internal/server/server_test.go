package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/cmd/towline-source/internal/credential"
	"github.com/towline-io/towline/cmd/towline-source/internal/git"
	"github.com/towline-io/towline/cmd/towline-source/internal/gittest"
	"github.com/towline-io/towline/cmd/towline-source/internal/grants"
	"github.com/towline-io/towline/cmd/towline-source/internal/managed"
	"github.com/towline-io/towline/cmd/towline-source/internal/mirror"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/pace"
	"github.com/towline-io/towline/pkg/source"
)

const cluster = "cluster1"

// fakeHub permits cluster, or all clusters, the repository of a Git server.
type fakeHub struct {
	mu     sync.Mutex // of grant, for changes between the requests of a git client
	grant  grants.Grant
	fails  error
	ended  atomic.Bool // the grant
	public bool        // no credential
	all    bool
}

func (h *fakeHub) Of(_ context.Context, of, name string) (grants.Grant, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of != cluster && !h.all || name != h.grant.Name || h.ended.Load() {
		return grants.Grant{}, false, nil
	}
	return h.grant, true, nil
}

// names changes the references and commits of the grant.
func (h *fakeHub) names(references, commits []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grant.References, h.grant.Commits = references, commits
}

func (h *fakeHub) All(_ context.Context, of string) ([]grants.Grant, error) {
	if of != cluster {
		return nil, nil
	}
	return []grants.Grant{h.grant}, nil
}

func (h *fakeHub) Credential(context.Context, grants.Grant) (credential.Credential, error) {
	if h.fails != nil {
		return credential.Credential{}, h.fails
	}
	if h.public {
		return credential.Credential{}, nil
	}
	return credential.For("default", h.grant.Address, []corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{apis.LabelSecretType: apis.SecretTypeRepository}},
		Data:       map[string][]byte{"url": []byte(h.grant.Address), "username": []byte(gittest.User), "password": []byte(gittest.Password)},
	}})
}

// world is the shipped API without the authentication and authorization of the hub.
type world struct {
	*testing.T

	git     *gittest.Server
	hub     *fakeHub
	config  *rest.Config
	limits  *limits
	handler *handler
	mirrors *mirror.Mirrors
	redis   *miniredis.Miniredis
}

func serve(t *testing.T) *world { return serveAt(t, pace.Default) }

// serveAt is serve with the pace of the slowest permitted client.
func serveAt(t *testing.T, slowest pace.Pace) *world {
	t.Helper()
	server := gittest.New(t)
	w := &world{
		T: t, git: server, hub: &fakeHub{grant: grants.Grant{Name: source.Name("default", server.URL), Address: server.URL, Projects: []string{"default"}}},
		limits: newLimits(10, 10),
	}
	mirrors, err := mirror.New(mirror.Options{
		Dir: t.TempDir(), Keep: time.Millisecond, MaxBytes: 1 << 20, MaxTotal: 1 << 20, LookTimeout: 30 * time.Second, FetchTimeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.mirrors = mirrors
	config, scheme := newConfig()
	serving := options.NewSecureServingOptions().WithLoopback()
	serving.Listener, serving.BindPort, serving.ServerCert.CertDirectory = listener, listener.Addr().(*net.TCPAddr).Port, t.TempDir()
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		t.Fatal(err)
	}
	config.Authentication.Authenticator = authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "admin"}}, true, nil
	})
	w.redis = miniredis.RunT(t)
	entries := managed.New(managed.Options{
		Grants: fakeDeliveries{}, Redis: argocache.NewRedis(argocache.Address{HostPort: w.redis.Addr()}), Home: "argocd",
		Open: func() bool { return true }, MaxBytes: 1 << 20, Log: testr.New(t),
	})
	w.handler = &handler{
		hub: w.hub, mirrors: mirrors, limits: w.limits, log: testr.New(t), managed: entries, pace: slowest, recheck: time.Hour,
	}
	api, err := install(config, scheme, w.handler)
	if err != nil {
		t.Fatal(err)
	}
	w.config = rest.CopyConfig(config.LoopbackClientConfig)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.PrepareRun().RunWithContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.get("/readyz")
	return w
}

// get sends a request, and returns the status code and the body. While the server starts, get tries again.
func (w *world) get(path string) (int, string) {
	w.Helper()
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.config.Host+path, http.NoBody)
		if err != nil {
			w.Fatal(err)
		}
		answer, err := client.Do(request)
		if err == nil {
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				w.Fatal(err)
			}
			return answer.StatusCode, string(body)
		}
		if ctx.Err() != nil {
			w.Fatal(err)
		}
	}
}

// client runs the real git client against the API of a cluster's repository, with further arguments in front.
func (w *world) client(of, name string, args ...string) (string, error) {
	url := w.config.Host + source.Path(of, name)
	all := append([]string{
		"-c", "http.sslVerify=false", "-c", "http.extraHeader=Authorization: Bearer " + w.config.BearerToken,
	}, args...)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "URL", url)
	}
	return gittest.Try(w.Context(), "", all...)
}

func TestClone(t *testing.T) {
	w := serve(t)
	name := source.Name("default", w.git.URL)
	for _, protocol := range []string{"0", "2"} {
		dir := filepath.Join(t.TempDir(), "clone")
		if out, err := w.client(cluster, name, "-c", "protocol.version="+protocol, "clone", "--quiet", "URL", dir); err != nil {
			t.Fatalf("protocol %s: %v\n%s", protocol, err, out)
		}
		first := strings.TrimSpace(gittest.Git(t, dir, "rev-parse", "HEAD"))
		second := w.git.Commit("protocol"+protocol, "new")
		if out, err := w.client(cluster, name, "-c", "protocol.version="+protocol, "-C", dir, "fetch", "--quiet", "origin", second); err != nil {
			t.Errorf("protocol %s: fetch of a commit: %v\n%s", protocol, err, out)
		}
		if got := strings.TrimSpace(gittest.Git(t, dir, "rev-parse", "FETCH_HEAD")); got != second || got == first {
			t.Errorf("protocol %s: fetched %s, not %s", protocol, got, second)
		}
	}
}

// TestReferences: a cluster sees the branches, the tags, and the references of its own Applications.
func TestReferences(t *testing.T) {
	w := serve(t)
	name := source.Name("default", w.git.URL)
	for _, ref := range []string{"refs/pull/7/head", "refs/pull/8/head", "refs/tags/v1", "refs/heads/other"} {
		w.git.Push("HEAD:" + ref)
	}
	for _, own := range [][]string{{"refs/pull/7/head"}, {"refs/pull/8/head"}, nil} {
		w.hub.names(append(slices.Clip(own), "refs/pull", "refs/pull/9/head"), nil) // neither exists
		want := append([]string{"HEAD", "refs/heads/main", "refs/heads/other"}, append(own, "refs/tags/v1")...)
		for _, protocol := range []string{"0", "2"} {
			out, err := w.client(cluster, name, "-c", "protocol.version="+protocol, "ls-remote", "--quiet", "URL")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got []string
			for line := range strings.Lines(out) {
				_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
				got = append(got, ref)
			}
			if !slices.Equal(got, want) {
				t.Errorf("protocol %s: a cluster with %v sees %v", protocol, own, got)
			}
		}
	}
}

// TestCommits: a cluster can fetch a commit on no branch and no tag that an Application names. An absent commit is no
// obstacle for the rest of the repository, and is served when it is there.
func TestCommits(t *testing.T) {
	w := serve(t)
	name := source.Name("default", w.git.URL)
	for i, protocol := range []string{"0", "2"} {
		dir := filepath.Join(t.TempDir(), "clone")
		commit := w.git.Prepare("protocol"+protocol, "new")
		w.hub.names(nil, []string{commit})
		if out, err := w.client(cluster, name, "-c", "protocol.version="+protocol, "clone", "--quiet", "URL", dir); err != nil {
			t.Fatalf("protocol %s: %v\n%s", protocol, err, out)
		}
		fetch := []string{"-c", "protocol.version=" + protocol, "-C", dir, "fetch", "--quiet", "origin", commit}
		if out, err := w.client(cluster, name, fetch...); err == nil || !strings.Contains(out, "not our ref "+commit) {
			t.Errorf("protocol %s: an absent commit: %v\n%s", protocol, err, out)
		}
		w.git.Push(fmt.Sprintf("HEAD:refs/pull/%d/head", i))
		if out, err := w.client(cluster, name, fetch...); err != nil {
			t.Errorf("protocol %s: %v\n%s", protocol, err, out)
		}
		if got := strings.TrimSpace(gittest.Git(t, dir, "rev-parse", "FETCH_HEAD")); got != commit {
			t.Errorf("protocol %s: fetched %s, not %s", protocol, got, commit)
		}
		unnamed := w.git.Prepare("unnamed"+protocol, "new")
		w.git.Push(fmt.Sprintf("HEAD:refs/pull/1%d/head", i))
		fetch[len(fetch)-1] = unnamed
		if out, err := w.client(cluster, name, fetch...); err == nil || !strings.Contains(out, "not our ref "+unnamed) {
			t.Errorf("protocol %s: a commit that no Application names: %v\n%s", protocol, err, out)
		}
	}
}

func TestReadOnly(t *testing.T) {
	w := serve(t)
	name := source.Name("default", w.git.URL)
	dir := filepath.Join(t.TempDir(), "clone")
	if out, err := w.client(cluster, name, "clone", "--quiet", "URL", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	gittest.Git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "x")
	if out, err := w.client(cluster, name, "-C", dir, "push", "URL", "HEAD:refs/heads/x"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("a push ends with %v\n%s", err, out)
	}
}

// A repository of a different cluster gets the same answer as a repository that does not exist, after the same time. A look
// at the Git server or at a mirror would take several milliseconds.
func TestAbsent(t *testing.T) {
	w := serve(t)
	name := source.Name("default", w.git.URL)
	path := func(cluster, name string) string {
		return source.Path(cluster, name) + "/info/refs?service=git-upload-pack"
	}
	if code, body := w.get(path(cluster, name)); code != http.StatusOK || !strings.Contains(body, "git-upload-pack") {
		t.Errorf("the own cluster gets %d %q", code, body)
	}
	absentName := source.Name("default", "https://git.example.com/apps.git")
	var times, timesAbsent []time.Duration
	for range 200 {
		began := time.Now()
		code, text := w.get(path("cluster2", name))
		times, began = append(times, time.Since(began)), time.Now()
		codeAbsent, textAbsent := w.get(path("cluster2", absentName))
		timesAbsent = append(timesAbsent, time.Since(began))
		if code != http.StatusNotFound || code != codeAbsent || text != textAbsent {
			t.Fatalf("the answers are %d %q and %d %q", code, text, codeAbsent, textAbsent)
		}
	}
	slices.Sort(times)
	slices.Sort(timesAbsent)
	foreign, none := times[len(times)/2], timesAbsent[len(timesAbsent)/2]
	if max(foreign, none) > 2*min(foreign, none)+time.Millisecond {
		t.Errorf("a foreign repository is absent after %s, and an absent repository after %s", foreign, none)
	}
	t.Logf("medians of %d requests: %s for a foreign repository, %s for an absent repository", len(times), foreign, none)
}

func TestRefusedRequests(t *testing.T) {
	w := serve(t)
	at := source.Path(cluster, source.Name("default", w.git.URL))
	for path, want := range map[string]int{
		"/info/refs?service=git-receive-pack": http.StatusForbidden,
		"/info/refs":                          http.StatusForbidden,
		"/HEAD":                               http.StatusNotFound,
		"/objects/info/packs":                 http.StatusNotFound,
		"/git-upload-pack":                    http.StatusNotFound,
		"/../../x":                            http.StatusNotFound,
	} {
		if code, body := w.get(at + path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// A failure of the Git server has a code of its own: an agent takes 502, 503 and 504 as the absence of the hub. The text
// names neither the server nor a credential: the cluster may not know the network of the hub.
func TestErrorTexts(t *testing.T) {
	w := serve(t)
	right := w.hub.grant.Address
	for title, test := range map[string]struct {
		down     bool
		address  string
		login    bool
		fails    error
		maxBytes int64
		full     bool
		code     int
		says     string
	}{
		"a server that fails":       {down: true, says: unreachable.text + ": " + unreachable.remedy},
		"no server":                 {address: "http://127.0.0.1:1/apps.git", says: unreachable.text},
		"no name":                   {address: "https://git.invalid/apps.git", says: "cannot resolve the name"},
		"a connection that breaks":  {address: cuts(t, "") + "/apps.git", says: "the connection to the Git server breaks"},
		"an answer that breaks":     {address: cuts(t, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n001e#") + "/apps.git", says: "server breaks"},
		"a server without TLS":      {address: strings.Replace(cuts(t, "HTTP/1.1 400 No\r\n\r\n"), "http", "https", 1) + "/apps.git", says: "agree on TLS"},
		"no user name for SSH":      {address: "ssh://127.0.0.1:1/apps.git", says: unusable.text},
		"the short form without":    {address: "127.0.0.1:apps.git", says: unusable.text},
		"another protocol":          {address: "git://127.0.0.1:1/apps.git", says: unusable.text},
		"no such repository":        {address: strings.TrimSuffix(right, "apps.git") + "none.git", login: true, says: "no such repository"},
		"a wrong password":          {address: strings.Replace(right, "127.0.0.1", "localhost", 1), says: "refuses the credential"},
		"an unverified server":      {address: strings.Replace(w.config.Host, "localhost", "127.0.0.1", 1) + "/apps", says: "cannot verify the Git server"},
		"an unsupported credential": {fails: credential.Error("Secret team-secret has githubAppID"), says: unusable.text},
		"an unreadable address":     {address: "https://%zz/apps.git", says: unusable.text},
		"a cache that fails":        {fails: errors.New("the cache of team-secret is not started"), code: 503, says: broken.text},
		"a volume that fails":       {full: true, code: 503, says: broken.text},
		"a large repository":        {maxBytes: 1, says: tooLarge.text + ": " + tooLarge.remedy},
	} {
		w.git.Down.Store(test.down)
		w.hub.fails, w.hub.grant.Address, w.mirrors.MaxBytes = test.fails, cmp.Or(test.address, right), cmp.Or(test.maxBytes, 1<<20)
		w.hub.public = test.address != "" && !test.login
		keys := filepath.Join(w.mirrors.Dir, "keys")
		if test.full {
			if err := os.Rename(keys, keys+"-away"); err != nil {
				t.Fatal(err)
			}
		}
		code, body := w.get(source.Path(cluster, w.hub.grant.Name) + "/info/refs?service=git-upload-pack")
		if test.full {
			if err := os.Rename(keys+"-away", keys); err != nil {
				t.Fatal(err)
			}
		}
		_, status := w.get(strings.TrimSuffix(source.Path(cluster, w.hub.grant.Name), "/"+source.Proxy))
		var shown Repository
		if err := json.Unmarshal([]byte(status), &shown); err != nil || shown.Status.Error == "" || shown.Status.Reason == "" ||
			!strings.Contains(shown.Status.Message, test.says) {
			t.Errorf("%s: the status shows %s (%v)", title, status, err)
		}
		if code != cmp.Or(test.code, http.StatusFailedDependency) || !strings.Contains(body, test.says) ||
			!strings.Contains(body, "kubectl get repositories -n "+cluster+" "+w.hub.grant.Name) {
			t.Errorf("%s: %d %s", title, code, body)
		}
		if strings.Contains(body, "127.0.0.1") || strings.Contains(body, "localhost") || strings.Contains(body, "team-secret") {
			t.Errorf("%s: the text names the server or the Secret: %s", title, body)
		}
	}
}

// TestRemedies: each failure has a remedy for the cluster, and docs/sources.md has the same texts.
func TestRemedies(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer("`", "", "[", "", "](#credentials)", "").Replace(string(page))
	for _, f := range slices.Concat(failures, []failure{tooLarge, other}) {
		if f.text == "" || f.remedy == "" {
			t.Errorf("the failure %q has the text %q and the remedy %q", f.reason, f.text, f.remedy)
		}
		if row := fmt.Sprintf("| %s | %s | %s |", f.reason, f.text, f.remedy); !strings.Contains(plain, "\n"+row+"\n") {
			t.Errorf("docs/sources.md lacks %s", row)
		}
	}
}

// cuts returns the address of a server that reads a request, sends a text, and ends the connection.
func cuts(t *testing.T, text string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4<<10))
			_, _ = io.WriteString(c, text)
			c.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestHangingServer: the cluster learns that the Git server does not answer. The failure counts once, also if the client has
// left before.
func TestHangingServer(t *testing.T) {
	w := serve(t)
	w.mirrors.LookTimeout = 300 * time.Millisecond
	w.git.Hang.Store(true)
	path := source.Path(cluster, w.hub.grant.Name) + "/info/refs?service=git-upload-pack"
	before := failuresCounted(t)
	if code, body := w.get(path); code != http.StatusFailedDependency || !strings.Contains(body, unreachable.text) {
		t.Errorf("%d %s", code, body)
	}
	if got := failuresCounted(t) - before; got != 1 {
		t.Errorf("%v failures are counted", got)
	}
	asked := make(chan struct{}, 1)
	note := func() { asked <- struct{}{} }
	w.git.Asked.Store(&note)
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	if answer, err := client.Do(w.request(http.MethodGet, path, nil).WithContext(ctx)); err == nil {
		answer.Body.Close()
		t.Errorf("the client that leaves gets %s", answer.Status)
	}
	for failuresCounted(t) < before+2 { // until the end of the test
		runtime.Gosched()
	}
}

// TestBrokenFetch: a connection that breaks in the middle of a fetch.
func TestBrokenFetch(t *testing.T) {
	w := serve(t)
	w.git.CutPacks.Store(true)
	code, body := w.get(source.Path(cluster, w.hub.grant.Name) + "/info/refs?service=git-upload-pack")
	if code != http.StatusFailedDependency || !strings.Contains(body, "the connection to the Git server breaks") {
		t.Errorf("%d %s", code, body)
	}
	w.git.CutPacks.Store(false)
	if code, body := w.get(source.Path(cluster, w.hub.grant.Name) + "/info/refs?service=git-upload-pack"); code != http.StatusOK {
		t.Errorf("after the repair: %d %s", code, body)
	}
}

// TestFailureOf tells a failure of towline-source from a failure of a Git server. A full volume also ends the connection.
func TestFailureOf(t *testing.T) {
	for title, test := range map[string]struct {
		err  error
		want string
	}{
		"a full volume":     {&git.Error{Command: "fetch", Text: "fatal: write error: No space left on device\nfatal: early EOF"}, "hub"},
		"a damaged mirror":  {&git.Error{Command: "upload-pack", Text: "fatal: '.' does not appear to be a git repository"}, "hub"},
		"git did not start": {&git.Error{Command: "ls-remote"}, "hub"},
		"a hidden reason":   {&git.Error{Command: "ls-remote", Text: "fatal: no"}, "other"},
		"no repository":     {&git.Error{Command: "ls-remote", Text: "fatal: 'x' does not appear to be a git repository"}, "missing"},
		"a server with OpenSSL that speaks no TLS": {&git.Error{Command: "ls-remote", Text: "fatal: unable to access 'https://x/': OpenSSL/3.0.19: " +
			"error:0A00010B:SSL routines::wrong version number"}, "tls"},
		"a proxy that ends the connection": {&git.Error{Command: "fetch", Text: "error: RPC failed; HTTP 504 curl 22 The requested URL returned " +
			"error: 504\nfatal: the remote end hung up unexpectedly"}, "unreachable"},
		"HTTP/2 that breaks": {&git.Error{Command: "fetch", Text: "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8)\n" +
			"error: 5401 bytes of body are still expected\nfatal: early EOF"}, "interrupted"},
		"a name without an address, by SSH": {&git.Error{Command: "ls-remote", Text: "ssh: Could not resolve hostname x: Name or service not known\n" +
			"fatal: Could not read from remote repository."}, "dns"},
		"a closed connection, by SSH": {&git.Error{Command: "ls-remote", Text: "kex_exchange_identification: Connection closed by remote host\n" +
			"fatal: Could not read from remote repository."}, "interrupted"},
		"a refused key, by SSH": {&git.Error{Command: "ls-remote", Text: "git@x: Permission denied (publickey).\n" +
			"fatal: Could not read from remote repository."}, "credential"},
	} {
		if got := failureOf(test.err); got.reason != test.want {
			t.Errorf("%s: %s, want %s", title, got.reason, test.want)
		}
	}
}

// TestUnusableBodies: a body that is not usable is the fault of the client.
func TestUnusableBodies(t *testing.T) {
	w := serve(t)
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	before := failuresCounted(t)
	for title, test := range map[string]struct{ encoding, protocol, body string }{
		"not compressed":   {encoding: "gzip", body: "hello world"},
		"unknown encoding": {encoding: "br", body: "hello world"},
		"no protocol":      {body: "hello world"},
		"no command":       {protocol: "version=2", body: "0012command=hello\n0000"},
		"no end":           {body: "0032want 0000"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			w.config.Host+source.Path(cluster, w.hub.grant.Name)+"/git-upload-pack", strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Encoding": test.encoding, "Git-Protocol": test.protocol} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusBadRequest || strings.TrimSpace(string(text)) != git.ErrRequest.Error() {
			t.Errorf("%s: %d %s, %v", title, answer.StatusCode, text, err)
		}
	}
	if after := failuresCounted(t); after != before {
		t.Errorf("%v failures are counted, before %v", after, before)
	}
}

// failuresCounted returns the number of counted failures.
func failuresCounted(t *testing.T) float64 {
	t.Helper()
	sum := 0.0
	for _, f := range slices.Concat(failures, []failure{tooLarge, unusable, other}) {
		sum += testutil.ToFloat64(failed.WithLabelValues(f.reason))
	}
	return sum
}

func TestList(t *testing.T) {
	w := serve(t)
	name := source.Name("default", w.git.URL)
	if out, err := w.client(cluster, name, "ls-remote", "URL"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := strings.TrimSuffix(source.Path(cluster, ""), "/proxy")
	for path, want := range map[string]string{
		list:                `"address":"` + w.git.URL + `"`,
		list + "/" + name:   `"references":2`,
		list + "/not-there": `"reason":"NotFound"`,
		"/apis/" + source.GroupVersion.String() + "/repositories": "name the namespace of a cluster",
		"/openapi/v3": "source.apps",
	} {
		if code, body := w.get(path); !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, without %s", path, code, body, want)
		}
	}
}

// TestLimits: a request waits for a place, and is refused after some time.
func TestLimits(t *testing.T) {
	w := serve(t)
	w.limits.byCluster, w.limits.patience = 1, 100*time.Millisecond
	own, leave, ok := w.limits.enter(cluster)
	if !ok || !own.TryAcquire(1) {
		t.Fatal("no place")
	}
	done := func() {
		own.Release(1)
		leave()
	}
	path := source.Path(cluster, source.Name("default", w.git.URL)) + "/info/refs?service=git-upload-pack"
	if code, body := w.get(path); code != http.StatusTooManyRequests {
		t.Errorf("the second request gets %d %s", code, body)
	}
	w.limits.patience = time.Minute
	time.AfterFunc(100*time.Millisecond, done)
	if code, body := w.get(path); code != http.StatusOK {
		t.Errorf("the next request gets %d %s", code, body)
	}
	if len(w.limits.clusters) != 0 {
		t.Errorf("places are left over: %v", w.limits.clusters)
	}
	if !w.limits.all.TryAcquire(10) {
		t.Fatal("places of all clusters are left over")
	}
	w.limits.patience = 100 * time.Millisecond
	if code, body := w.get(path); code != http.StatusOK {
		t.Errorf("a question about the references gets %d %s", code, body)
	}
	if out, err := w.client(cluster, w.hub.grant.Name, "clone", "--quiet", "URL", t.TempDir()); err == nil || !strings.Contains(out, "429") {
		t.Errorf("a request for a pack gets %s (%v)", out, err)
	}
	if !w.limits.questions.TryAcquire(maxQuestions) {
		t.Fatal("places of questions are left over")
	}
	w.git.Commit("new", "references")
	if code, body := w.get(path); code != http.StatusTooManyRequests {
		t.Errorf("a question with a new answer gets %d %s", code, body)
	}
}

func TestOfCluster(t *testing.T) {
	agent := func(of string) *user.DefaultInfo {
		own := prefix + "cluster:" + of + ":addon:towline-agent"
		return &user.DefaultInfo{Name: own + ":agent:x", Groups: []string{own, prefix + "addon:towline-agent"}}
	}
	for name, test := range map[string]struct {
		user user.Info
		want bool
	}{
		"nobody":                       {nil, false},
		"an administrator":             {&user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}}, true},
		"the agent":                    {agent(cluster), true},
		"the agent of another cluster": {agent("cluster2"), false},
		"a cluster with a longer name": {agent("cluster11"), false},
		"an agent without a group":     {&user.DefaultInfo{Name: agent(cluster).Name}, false},
	} {
		if got := ofCluster(test.user, cluster); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestShown(t *testing.T) {
	for address, want := range map[string]string{
		"https://user:pass@git.example.com/a": "https://git.example.com/a",
		"git@git.example.com:a":               "git@git.example.com:a",
		"https://git.example.com/a":           "https://git.example.com/a",
	} {
		if got := Shown(address); got != want {
			t.Errorf("%s is shown as %s", address, got)
		}
	}
}
