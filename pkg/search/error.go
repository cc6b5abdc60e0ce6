package search

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/towline-io/towline/pkg/feedback"
)

// Reason is the kind of a failure, for metrics.
type Reason string

// The reasons.
const (
	// Unconfigured: the token, the CA file or the address is missing or no good.
	Unconfigured Reason = "unconfigured"

	// Unreachable: no connection, or one that broke.
	Unreachable Reason = "unreachable"

	// Untrusted: the certificate is not one of the trusted authorities', or is for another host.
	Untrusted Reason = "untrusted"

	// Timeout: no whole answer in time.
	Timeout Reason = "timeout"

	// Unauthorized: the service does not take the token.
	Unauthorized Reason = "unauthorized"

	// Status: any other answer than 200, redirects included.
	Status Reason = "status"

	// TooLarge: the answer is longer than is read.
	TooLarge Reason = "tooLarge"

	// Invalid: the answer is not what the schema says.
	Invalid Reason = "invalid"

	// Failed: the service answered with errors. What it sent beside them is not used: nobody knows what lacks.
	Failed Reason = "failed"
)

// Reasons are all reasons.
var Reasons = []Reason{Unconfigured, Unreachable, Untrusted, Timeout, Unauthorized, Status, TooLarge, Invalid, Failed}

// maxText bounds what an error quotes of an answer.
const maxText = 512

// Error is why there is no answer. It quotes no token, also where the service sent it back.
type Error struct {
	// Reason is the kind of failure.
	Reason Reason

	text string
}

// Error implements error.
func (e *Error) Error() string { return e.text }

func newError(r Reason, text string) *Error { return &Error{Reason: r, text: text} }

// fit makes the error fit to be shown: without the secret, and then short and clean. In this order, since a secret
// that was cut would not be found.
func (e *Error) fit(secret string) *Error {
	text := e.text
	if secret != "" {
		text = strings.ReplaceAll(text, secret, "[token]")
	}
	return &Error{Reason: e.Reason, text: feedback.Clean(text, maxText)}
}

// ofTransport tells why no answer came. The address is left out, since whoever reads it knows it.
func ofTransport(err error) *Error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	var netErr net.Error
	var certErr *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certErr):
		return newError(Untrusted, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return newError(Timeout, "no answer in time")
	}
	return newError(Unreachable, err.Error())
}

func ofStatus(resp *http.Response) *Error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxText+maxToken)) // a token that begins in what is shown is whole
	said := fmt.Sprintf("the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if len(text) > 0 {
		said += ": " + string(text)
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return newError(Unauthorized, said)
	}
	return newError(Status, said)
}
