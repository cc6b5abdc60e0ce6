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
	// DefaultTimeout is the maximum duration of a request, including the download of the answer.
	DefaultTimeout = 30 * time.Second

	// DefaultMaxBytes is the maximum size of an answer in bytes. A caller can request a larger page in parts.
	DefaultMaxBytes = 16 << 20
)

// Config has the address of the search service, the credentials and the limits of a request.
type Config struct {
	// URL returns the address of the service. Client calls URL for every request, because the service may appear or move.
	URL func(context.Context) (string, error)

	// TokenFile is the path of the file with the bearer token. Client reads the file for every request, because tokens
	// rotate.
	TokenFile string

	// CAFile is the path of a PEM file with the trusted certificate authorities. An empty path means the system's
	// authorities. A change of the file takes effect without a restart.
	CAFile string

	// Timeout and MaxBytes are the limits of a request. 0 means DefaultTimeout and DefaultMaxBytes.
	Timeout  time.Duration
	MaxBytes int64
}

// Fixed returns a value for Config.URL with a fixed address.
func Fixed(address string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return address, nil }
}

// Client sends requests to a search service. Several goroutines may use a Client at once.
type Client struct {
	config  Config
	trusted trusted
}

// New returns a client. New neither reads a file nor opens a connection.
func New(c Config) *Client {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	return &Client{config: c, trusted: trusted{file: c.CAFile}}
}

// Query requests the resources of the wanted Applications, in a single request. Every error is an *Error.
func (c *Client) Query(ctx context.Context, wanted []Key) (*Answer, error) {
	token, err := readToken(c.config.TokenFile)
	if err != nil {
		return nil, newError(Unconfigured, "token file: "+err.Error()).fit("")
	}
	answer, failure := c.query(ctx, wanted, token)
	if failure != nil {
		return nil, failure.fit(token)
	}
	return answer, nil
}

func (c *Client) query(ctx context.Context, wanted []Key, token string) (*Answer, *Error) {
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
	// net/http does not send an Idempotency-Key without a value. With the key in the map, net/http repeats the query if
	// the service has closed an idle connection.
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

// stay refuses every redirect, because the token is only for the configured address.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// CheckURL returns an error for an invalid address of a search service: a scheme different from https, a missing host, a
// user, a query or a fragment.
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
