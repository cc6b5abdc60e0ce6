package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/agent/sourceproxy"
	"github.com/towline-io/towline/pkg/apis"
)

// hubPassword is the password of the Git server over HTTPS. Only the hub has the password.
const hubPassword = "password-that-only-the-hub-has"

// secureGit serves the repositories of the fleet's Git server over HTTPS, for the account of the hub only.
type secureGit struct {
	*httptest.Server

	// password is the accepted password. down makes each request fail, and cut ends each answer with content early.
	password  atomic.Value
	down, cut atomic.Bool

	// hanging lets requests wait; nil for a server that answers.
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
		hanging := s.hanging.Load()
		if !hanging.inPacks() && hanging.wait(r) != nil {
			return
		}
		switch {
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
			if hanging.inPacks() {
				w = &heldPack{ResponseWriter: w, hanging: hanging, request: r}
			}
			proxy.ServeHTTP(w, r)
		}
	}))
	DeferCleanup(s.Close)
	return s
}

// pause is the state of a server that does not answer, or that stops in the middle of each pack.
type pause struct {
	packs bool
	over  chan struct{}
	held  atomic.Int32 // the requests so far
}

// inPacks returns whether only packs wait.
func (h *pause) inPacks() bool { return h != nil && h.packs }

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
func (s *secureGit) hang() (answer func()) { return s.wait(&pause{over: make(chan struct{})}) }

// hangInPacks makes the server stop in the middle of each pack, until the returned function is called.
func (s *secureGit) hangInPacks() (answer func()) {
	return s.wait(&pause{packs: true, over: make(chan struct{})})
}

func (s *secureGit) wait(h *pause) (answer func()) {
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

// heldPack waits after the first bytes of a pack.
type heldPack struct {
	http.ResponseWriter
	hanging *pause
	request *http.Request
	begun   bool
}

// Write implements io.Writer.
func (h *heldPack) Write(p []byte) (int, error) {
	const begin = "PACK"
	at := bytes.Index(p, []byte(begin))
	if h.begun || at < 0 {
		return h.ResponseWriter.Write(p)
	}
	h.begun = true
	first, err := h.ResponseWriter.Write(p[:at+len(begin)])
	if err == nil {
		err = http.NewResponseController(h.ResponseWriter).Flush()
	}
	if err == nil {
		err = h.hanging.wait(h.request)
	}
	if err != nil {
		return first, err
	}
	rest, err := h.ResponseWriter.Write(p[first:])
	return first + rest, err
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
