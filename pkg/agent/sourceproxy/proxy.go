package sourceproxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"

	"github.com/towline-io/towline/pkg/pace"
	"github.com/towline-io/towline/pkg/source"
)

const (
	// maxRequests is the maximum number of requests at a time. slotTimeout is how long a request waits for the end of
	// earlier requests.
	maxRequests = 32
	slotTimeout = 5 * time.Second

	// maxBody is the maximum size of a request.
	maxBody = 64 << 20

	// answerTimeout is how long the proxy waits for the beginning of the hub's answer. The hub may have to fetch the
	// repository first.
	answerTimeout = 90 * time.Second

	// logInterval is the minimum time between two log messages about the hub.
	logInterval = 30 * time.Second

	// maxReading is the maximum number of answers about references that the proxy reads at a time. Further answers are
	// streamed, and not kept.
	maxReading = 4
)

// Hub is the connection to the hub.
type Hub struct {
	// Address is the address of the hub's API server, with an optional path.
	Address *url.URL

	// Transport authenticates requests as the agent.
	Transport http.RoundTripper

	// Namespace is the cluster's namespace on the hub.
	Namespace string
}

// pathOf returns the path of the hub for a path below a repository.
func (h *Hub) pathOf(repository, rest string) *url.URL {
	u := *h.Address
	u.Path = path.Join("/", u.Path,
		"apis/source.apps.open-cluster-management.io/v1alpha1/namespaces", h.Namespace, "repositories", repository, "proxy", rest)
	return &u
}

// Proxy answers the requests of the cluster's Argo CD.
type Proxy struct {
	hub      Hub
	identity *identity
	log      logr.Logger

	answers answers
	slots   chan struct{}
	reading chan struct{}
	logs    rate.Sometimes

	slotTimeout, answerTimeout, keptTimeout time.Duration

	pace pace.Pace
}

func newProxy(hub Hub, identity *identity, log logr.Logger) *Proxy {
	return &Proxy{
		hub: hub, identity: identity, log: log,
		slots: make(chan struct{}, maxRequests), reading: make(chan struct{}, maxReading),
		logs:        rate.Sometimes{Interval: logInterval},
		slotTimeout: slotTimeout, answerTimeout: answerTimeout, keptTimeout: source.KeptTimeout, pace: pace.Default,
	}
}

// ServeHTTP forwards a permitted request to the hub.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); !p.identity.permits(user, password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="towline"`)
		http.Error(w, "The user name or the password is wrong.", http.StatusUnauthorized)
		return
	}
	repository, rest, refused := parse(r)
	if refused == nil && r.ContentLength > maxBody {
		refused = &refusal{http.StatusRequestEntityTooLarge, "The request is too large."}
	}
	if refused != nil {
		http.Error(w, refused.text, refused.code)
		return
	}
	timeout := time.NewTimer(p.slotTimeout)
	defer timeout.Stop()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
		p.forward(w, r, repository, rest)
	case <-timeout.C:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The agent forwards too many requests at the same time.", http.StatusServiceUnavailable)
	case <-r.Context().Done():
	}
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, repository, rest string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	r.Body, w = p.pace.Body(w, r), p.pace.Writer(w) // a slow client must not keep its place
	question, err := questionOf(r, repository, rest)
	if err != nil {
		http.Error(w, "The request cannot be read.", http.StatusBadRequest)
		return
	}
	c := &call{Proxy: p, repository: repository, target: p.hub.pathOf(repository, rest), question: question}
	(&httputil.ReverseProxy{
		Rewrite: c.rewrite, Transport: c, ModifyResponse: c.receive, ErrorHandler: c.fail, FlushInterval: -1,
		ErrorLog: quiet,
	}).ServeHTTP(w, r)
}

// errNoAnswer means that the hub's answer did not begin in time.
var errNoAnswer = errors.New("the hub did not answer in time")

// unavailable is an answer of the hub, or of a proxy before the hub, that says nothing about the repository.
type unavailable struct {
	code int
	text string
}

func (u *unavailable) Error() string { return fmt.Sprintf("the hub answered %d: %s", u.code, u.text) }
