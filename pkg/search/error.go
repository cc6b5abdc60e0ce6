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
	// Unconfigured: the token, the CA file or the address is missing or invalid.
	Unconfigured Reason = "unconfigured"

	// Unreachable: no connection, or a broken connection.
	Unreachable Reason = "unreachable"

	// Untrusted: the certificate is not from a trusted authority, or is for a different host.
	Untrusted Reason = "untrusted"

	// Timeout: no complete answer in time.
	Timeout Reason = "timeout"

	// Unauthorized: the service does not accept the token.
	Unauthorized Reason = "unauthorized"

	// Status: any HTTP status except 200, including redirects.
	Status Reason = "status"

	// TooLarge: the answer exceeds the size limit.
	TooLarge Reason = "tooLarge"

	// Invalid: the answer does not match the schema.
	Invalid Reason = "invalid"

	// Failed: the service answered with errors. Data next to errors is ignored, because the data may be incomplete.
	Failed Reason = "failed"
)

// Reasons are all reasons.
var Reasons = []Reason{Unconfigured, Unreachable, Untrusted, Timeout, Unauthorized, Status, TooLarge, Invalid, Failed}

// maxText is the maximum size of a quotation from an answer in an error, in bytes.
const maxText = 512

// Error is the reason for a missing answer. Error never contains the token, even if the service sent the token back.
type Error struct {
	// Reason is the kind of failure.
	Reason Reason

	text string
}

// Error implements error.
func (e *Error) Error() string { return e.text }

func newError(r Reason, text string) *Error { return &Error{Reason: r, text: text} }

// fit returns the error in a safe form: first without the secret, then short and clean. The order matters, because a
// cut secret would not be found.
func (e *Error) fit(secret string) *Error {
	text := e.text
	if secret != "" {
		text = strings.ReplaceAll(text, secret, "[token]")
	}
	return &Error{Reason: e.Reason, text: feedback.Clean(text, maxText)}
}

// ofTransport returns the error for a failed request. The error omits the address, because readers know the address.
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
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxText+maxToken)) // read enough for a whole token that begins in the shown part
	said := fmt.Sprintf("the answer is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if len(text) > 0 {
		said += ": " + string(text)
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return newError(Unauthorized, said)
	}
	return newError(Status, said)
}
