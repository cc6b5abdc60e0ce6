package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	// DefaultTimeout bounds one request with its answer.
	DefaultTimeout = 30 * time.Second

	// DefaultMaxBytes bounds an answer. A page that has more can be asked for in parts.
	DefaultMaxBytes = 16 << 20
)

// Config says whom to ask, and how.
type Config struct {
	// URL finds the address for every request, so that a service that appears or moves is found.
	URL func(context.Context) (string, error)

	// TokenFile holds the bearer token. It is read for every request: tokens rotate.
	TokenFile string

	// CAFile holds the certificate authorities to trust, in PEM; empty for the system's own. It is read again
	// when it changes.
	CAFile string

	// Timeout and MaxBytes default to DefaultTimeout and DefaultMaxBytes.
	Timeout  time.Duration
	MaxBytes int64
}

// Fixed is an address that does not have to be looked for.
func Fixed(address string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return address, nil }
}

// Client asks one search service. It may be used by several goroutines at once.
type Client struct {
	config  Config
	trusted trusted
}

// New makes a client. It reads nothing and connects to nothing yet.
func New(c Config) *Client {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	return &Client{config: c, trusted: trusted{file: c.CAFile}}
}

// Ask is what the service knows of the wanted Applications, in one request. Every error is an *Error.
func (c *Client) Ask(ctx context.Context, wanted []Key) (*Answer, error) {
	token, err := readToken(c.config.TokenFile)
	if err != nil {
		return nil, newError(Unconfigured, "token file: "+err.Error()).fit("")
	}
	answer, failure := c.ask(ctx, wanted, token)
	if failure != nil {
		return nil, failure.fit(token)
	}
	return answer, nil
}

func (c *Client) ask(ctx context.Context, wanted []Key, token string) (*Answer, *Error) {
	payload, err := body(clustersOf(wanted))
	if err != nil {
		return nil, newError(Invalid, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	data, failure := c.exchange(ctx, payload, token)
	if failure != nil {
		return nil, failure
	}
	return parse(data, wanted)
}

// exchange sends a request and returns the body of the answer.
func (c *Client) exchange(ctx context.Context, payload []byte, token string) ([]byte, *Error) {
	transport, err := c.trusted.transport()
	if err != nil {
		return nil, newError(Unconfigured, "CA file: "+err.Error())
	}
	address, err := c.config.URL(ctx)
	if err != nil {
		return nil, newError(Unconfigured, err.Error())
	}
	if err := CheckURL(address); err != nil {
		return nil, newError(Unconfigured, err.Error())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return nil, newError(Unconfigured, err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	// Set but empty, it is not sent, and tells net/http that a query may be sent again when the service has closed
	// an idle connection.
	req.Header["Idempotency-Key"] = nil
	resp, err := (&http.Client{Transport: transport, CheckRedirect: stay}).Do(req)
	if err != nil {
		return nil, ofTransport(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, ofStatus(resp)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.config.MaxBytes+1))
	if err != nil {
		return nil, ofTransport(err)
	}
	if int64(len(data)) > c.config.MaxBytes {
		return nil, newError(TooLarge, fmt.Sprintf("the answer is longer than %d bytes", c.config.MaxBytes))
	}
	return data, nil
}

// stay follows no redirect: the token is for the address that was configured.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// CheckURL tells what is wrong with the address of a search service.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("is no URL")
	case u.Scheme != "https":
		return errors.New("does not begin with https://: a token is sent there")
	case u.Hostname() == "":
		return errors.New("names no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("has a user, a query or a fragment, which it must not have")
	}
	return nil
}
