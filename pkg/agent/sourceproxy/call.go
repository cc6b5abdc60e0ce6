package sourceproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// maxText is the maximum size of an error text from the hub.
const maxText = 64 << 10

// quiet drops the messages of the reverse proxy. The proxy logs failures of the hub by itself, and a client that goes
// away is no failure.
var quiet = log.New(io.Discard, "", 0)

// The headers that pass the proxy. In particular, no credentials and cookies pass in any direction.
var (
	requestHeaders  = []string{"Content-Type", "Content-Encoding", "Git-Protocol", "Accept"}
	responseHeaders = []string{"Content-Type", "Content-Encoding", "Cache-Control", "Expires", "Pragma"}
)

// flush is the last packet of an answer about references.
var flush = []byte("0000")

// unserved is the text of kube-apiserver 1.36 for an API without a server. kube-apiserver answers by http.NotFound.
const unserved = "404 page not found"

// call is a request on the way to the hub.
type call struct {
	*Proxy

	repository string
	target     *url.URL
	question   *question // nil for a request that is not about references
}

// rewrite sets the address and the headers for the hub.
func (c *call) rewrite(r *httputil.ProxyRequest) {
	query := r.In.URL.RawQuery
	r.Out.URL = ptr.To(*c.target)
	r.Out.URL.RawQuery = query
	r.Out.Host = ""
	r.Out.Header = chosen(r.In.Header, requestHeaders)
	r.Out.Header.Set("Accept-Encoding", "identity")
}

func chosen(from http.Header, names []string) http.Header {
	out := http.Header{}
	for _, name := range names {
		if values := from.Values(name); len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

// RoundTrip sends the request to the hub, and waits for the beginning of the answer for a limited time.
func (c *call) RoundTrip(r *http.Request) (*http.Response, error) {
	patience := c.answerTimeout
	if c.question != nil && c.answers.get(*c.question) != nil {
		patience = c.keptTimeout
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(patience, func() { cancel(errNoAnswer) })
	resp, err := c.hub.Transport.RoundTrip(r.WithContext(ctx))
	if timer.Stop() {
		return resp, err
	}
	// The end of the request can cause an answer: a server that waits for the end answers with 200 and no body.
	if err == nil {
		_ = resp.Body.Close()
	}
	cancel(errNoAnswer) // the timer's function has begun, and may not have set the cause yet
	return nil, context.Cause(ctx)
}

// receive decides about an answer of the hub.
func (c *call) receive(resp *http.Response) error {
	code := resp.StatusCode
	resp.Header = chosen(resp.Header, responseHeaders)
	switch code {
	case http.StatusOK:
		return c.keep(resp)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &unavailable{code, textOf(resp)}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		c.answers.forget(c.repository)
	}
	text := textOf(resp)
	switch {
	case code == http.StatusFailedDependency: // the libraries of Argo CD show the text of 401, 403 and 404 only
		code = http.StatusNotFound
	case code == http.StatusUnauthorized: // the client would take 401 for an answer about the client's own password
		code, text = http.StatusForbidden, "The hub does not accept the identity of the agent."
	case code < http.StatusBadRequest:
		code, text = http.StatusBadGateway, fmt.Sprintf("The hub answered with the unexpected code %d.", code)
	}
	resp.StatusCode, resp.Header = code, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	resp.Body = io.NopCloser(strings.NewReader(text + "\n"))
	return nil
}

// keep keeps a complete answer about references. All other answers stay as they are.
func (c *call) keep(resp *http.Response) error {
	if c.question == nil {
		return nil
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	default:
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("the hub's answer ended early: %w", err)
	}
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	if len(body) <= maxAnswer && bytes.HasSuffix(body, flush) {
		c.answers.keep(*c.question, resp.Header.Get("Content-Type"), body)
	}
	return nil
}

// textOf returns the text of an error from the hub. The hub's API server writes errors as JSON, which Git's clients do
// not show.
func textOf(resp *http.Response) string {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxText))
	status := metav1.Status{}
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return status.Message
	}
	text := strings.TrimSpace(string(body))
	switch plain := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"); {
	case plain && text == unserved:
		return "The hub could not find the requested resource: towline-source is not installed on the hub."
	case plain && text != "":
		return text
	}
	return http.StatusText(resp.StatusCode)
}

// fail answers a request that the hub did not answer.
func (c *call) fail(w http.ResponseWriter, r *http.Request, err error) {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "The request is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	if r.Context().Err() != nil {
		return // the client is gone
	}
	c.logs.Do(func() {
		c.log.Info("The hub did not serve a source", "repository", c.repository, "reason", err.Error())
	})
	if c.question != nil {
		if kept := c.answers.get(*c.question); kept != nil {
			keptAnswers.Inc()
			w.Header().Set("Content-Type", kept.contentType)
			w.Header().Set("Cache-Control", "no-cache")
			_, _ = w.Write(kept.body)
			return
		}
	}
	http.Error(w, "The source cannot be read from the hub: "+err.Error(), http.StatusBadGateway)
}
