package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/towline-io/towline/cmd/towline-source/internal/git"
	"github.com/towline-io/towline/cmd/towline-source/internal/managed"
	"github.com/towline-io/towline/cmd/towline-source/internal/mirror"
	"github.com/towline-io/towline/pkg/pace"
)

// handler answers Git's requests of the clusters.
type handler struct {
	hub     Hub
	mirrors *mirror.Mirrors
	limits  *limits
	pace    pace.Pace
	log     logr.Logger

	// recheck is how often an open request looks at its grant.
	recheck time.Duration

	// managed writes the managed resources of Applications; nil if the hub takes none.
	managed *managed.Entries
}

// absent is the answer to every request without a grant. A repository of a different cluster gives the same answer as a
// repository that does not exist.
const absent = "this cluster reads no repository of this name through the hub"

// serve answers a request about the named repository.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, by user.Info, cluster, name, path string) {
	path = strings.TrimPrefix(path, "/")
	if !ofCluster(by, cluster) {
		http.Error(w, absent, http.StatusNotFound)
		return
	}
	grant, ok, err := h.hub.Of(r.Context(), cluster, name)
	switch {
	case err != nil:
		h.log.Info("The hub does not answer", "cluster", cluster, "error", err.Error())
		http.Error(w, "the hub does not answer", http.StatusServiceUnavailable)
		return
	case !ok:
		http.Error(w, absent, http.StatusNotFound)
		return
	}
	if code, message := git.Refused(r, path); code != 0 {
		http.Error(w, message, code)
		return
	}
	own, leave, ok := h.limits.enter(cluster)
	if !ok {
		tooMany(w)
		return
	}
	defer leave()
	r.Body, w = h.pace.Body(w, r), h.pace.Writer(w)
	access, err := h.hub.Credential(r.Context(), grant)
	if err != nil {
		h.fail(w, err, cluster, name)
		return
	}
	body, err := readBody(r, path)
	if err != nil {
		http.Error(w, git.ErrRequest.Error(), http.StatusBadRequest)
		return
	}
	r, end := h.whileGranted(w, r, cluster, name)
	defer end()
	answer := &begun{ResponseWriter: w}
	repository := mirror.Repository{Address: grant.Address, Credential: access, References: grant.References, Commits: grant.Commits}
	if err := h.answer(answer, r, path, repository, body, own); err != nil {
		h.refuse(answer, err, cluster, name)
	}
}

// refuse ends a request whose answer has failed.
func (h *handler) refuse(w *begun, err error, cluster, name string) {
	switch {
	case w.begun:
		h.log.Info("An answer was cut off", "cluster", cluster, "repository", name, "error", err.Error())
		panic(http.ErrAbortHandler) // the client must not take the part for the whole
	case errors.Is(err, errEnded):
		http.Error(w, absent, http.StatusNotFound)
	case errors.Is(err, errTooMany):
		tooMany(w)
	case errors.Is(err, git.ErrRequest):
		http.Error(w, git.ErrRequest.Error(), http.StatusBadRequest)
	default:
		h.fail(w, err, cluster, name)
	}
}

// errEnded means that the grant has ended during the request.
var errEnded = errors.New("the cluster may not read the repository any more")

// whileGranted returns the request with a context that ends soon after the grant of a cluster for a repository, and a
// function for the end of the request. Then a client that hardly reads or sends does not keep the request open.
func (h *handler) whileGranted(w http.ResponseWriter, r *http.Request, cluster, name string) (_ *http.Request, end func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(h.recheck)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			_, ok, err := h.hub.Of(ctx, cluster, name)
			switch {
			case ok || err != nil:
			case ctx.Err() == nil:
				cancel(errEnded)
			default:
				connection := http.NewResponseController(w)
				_ = connection.SetWriteDeadline(past)
				_ = connection.SetReadDeadline(past)
			}
		}
	}()
	return r.WithContext(ctx), func() {
		close(over)
		<-ended
		cancel(nil)
	}
}

// past is a deadline that ends each open read and write.
var past = time.Unix(1, 0)

// errTooMany means that too many requests wait for an answer.
var errTooMany = errors.New("too many requests of this cluster, or of all clusters, at the same time")

func tooMany(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, errTooMany.Error(), http.StatusTooManyRequests)
}

// answer answers a permitted request: a question about the references from memory, and all other requests by git. The
// request takes a place after the look at the Git server, because a Git server may take minutes.
func (h *handler) answer(
	w http.ResponseWriter, r *http.Request, path string, repository mirror.Repository, body body, own *semaphore.Weighted,
) error {
	if body.question != "" {
		place := func(ctx context.Context) (func(), error) { return h.limits.take(ctx, own) }
		out, err := h.mirrors.Answer(r.Context(), repository, body.question, place, func(ctx context.Context, m git.Mirror) (*git.Answer, error) {
			done, err := h.limits.take(ctx, h.limits.questions)
			if err != nil {
				return nil, err
			}
			defer done()
			asked := r.Clone(ctx) // further requests wait for the answer, so a client that leaves must not end the answer
			asked.Body = io.NopCloser(bytes.NewReader(body.head))
			return m.Answer(asked, path)
		})
		switch {
		case err == nil:
			maps.Copy(w.Header(), out.Header)
			_, err := w.Write(out.Body)
			return err
		case !errors.Is(err, git.ErrLongAnswer):
			return err
		}
	}
	places := func(ctx context.Context) (func(), error) { return h.limits.take(ctx, own, h.limits.all) }
	return h.mirrors.Use(r.Context(), repository, body.wanted, places, func(m git.Mirror) error { return m.Serve(w, r, path) })
}

// lookFailed logs and counts a failed look at a Git server, also if the requests that caused the look have ended before.
func (h *handler) lookFailed(address string, err error) {
	h.log.Info("A repository was not read", "address", Shown(address), "error", err.Error())
	failed.WithLabelValues(failureOf(err).reason).Inc()
}

// fail logs and counts an error, and answers with a text that names no credential and no server: the agent of a cluster
// may not learn the network of the hub. Administrators find the error in the log, and the error of a look at the Git server
// in the status of the Repository. The code 424 means that the hub works, and the Git server or the credential does not.
// Agents take 502, 503 and 504 as the absence of the hub, and repeat kept answers.
func (h *handler) fail(w http.ResponseWriter, err error, cluster, name string) {
	if errors.Is(err, context.Canceled) {
		return // the client has left
	}
	h.log.Info("A repository was not served", "cluster", cluster, "repository", name, "error", err.Error())
	why := failureOf(err)
	if _, counted := errors.AsType[*mirror.LookError](err); !counted {
		failed.WithLabelValues(why.reason).Inc()
	}
	text := fmt.Sprintf("%s: %s. The error on the hub: kubectl get repositories -n %s %s", why.text, why.remedy, cluster, name)
	http.Error(w, text, cmp.Or(why.code, http.StatusFailedDependency))
}

// prefix begins the names of all groups of agents.
const prefix = "system:open-cluster-management:"

// ofCluster returns whether a user may read the repositories of a cluster: the cluster's agents, and users of the hub who
// are no agents. The add-on manager of Open Cluster Management 1.2 binds the rights of an agent to a group of all
// clusters. With RBAC alone, each agent could read the repositories of every cluster.
func ofCluster(by user.Info, cluster string) bool {
	if by == nil {
		return false
	}
	groups := by.GetGroups()
	agent := strings.HasPrefix(by.GetName(), prefix) || slices.ContainsFunc(groups, func(g string) bool { return strings.HasPrefix(g, prefix) })
	own := func(s string) bool { return strings.HasPrefix(s, prefix+"cluster:"+cluster+":") }
	return !agent || slices.ContainsFunc(groups, own)
}

// begun notes that the answer has begun.
type begun struct {
	http.ResponseWriter
	begun bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.begun = true
	return b.ResponseWriter.Write(p)
}

// wantLine matches a wanted object in a request of git.
var wantLine = regexp.MustCompile(`want ([0-9a-f]{40,64})`)

// maxHead is the length of the part of a body that readBody reads. Git names the wanted objects first.
const maxHead = 16 << 10

// lsRefs begins the body of a question about the references, in version 2 of Git's protocol. The first four characters
// are a length.
var lsRefs = regexp.MustCompile(`^[0-9a-f]{4}command=ls-refs\n`)

// A body is the read part of a request's body.
type body struct {
	// head is the beginning of the body.
	head []byte

	// wanted are the objects that a request for a pack wants.
	wanted []string

	// question identifies a question about the references; empty for all other requests.
	question string
}

// readBody reads the beginning of a request's body. The body of the request stays readable. A compressed body is not
// read: git compresses bodies with many negotiated commits, and the first request of a fetch is small.
func readBody(r *http.Request, path string) (body, error) {
	if path == git.RefsPath {
		return body{question: path + "\x00" + r.Header.Get("Git-Protocol")}, nil
	}
	if r.Header.Get("Content-Encoding") != "" {
		return body{}, nil
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, maxHead))
	if err != nil {
		return body{}, err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
	out := body{head: head}
	for _, match := range wantLine.FindAllSubmatch(head, -1) {
		out.wanted = append(out.wanted, string(match[1]))
	}
	if len(head) < maxHead && lsRefs.Match(head) {
		out.question = r.Header.Get("Git-Protocol") + "\x00" + string(head)
	}
	return out, nil
}

// Shown returns an address without a user name and a password.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}

// watchesEnd is how long a stopping server waits for open answers.
const watchesEnd = 30 * time.Second
