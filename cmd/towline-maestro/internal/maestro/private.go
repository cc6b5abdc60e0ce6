package maestro

import (
	"regexp"

	"google.golang.org/grpc/status"
)

// uuids are the ids of bundles in what Maestro and the clients of its servers say.
var uuids = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)

// withoutIDs returns the error without ids of bundles in its text. Errors of writes end in conditions, and tenants read conditions. An id lets
// every agent speak for the bundle's cluster: see bundle.IDs.
func withoutIDs(err error) error {
	if err == nil {
		return nil
	}
	text := uuids.ReplaceAllString(err.Error(), "…")
	if text == err.Error() {
		return err
	}
	if s, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return status.Error(s.GRPCStatus().Code(), uuids.ReplaceAllString(s.GRPCStatus().Message(), "…"))
	}
	return private{err, text}
}

// private says less than the error that it wraps.
type private struct {
	error
	text string
}

// Error implements error.
func (p private) Error() string { return p.text }

// Unwrap returns the error with its whole text.
func (p private) Unwrap() error { return p.error }
