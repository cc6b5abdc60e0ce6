package maestro

import (
	"regexp"

	"google.golang.org/grpc/status"
)

// uuids matches the ids of bundles in the messages of Maestro and of Maestro's clients.
var uuids = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)

// withoutIDs returns an error with a text without ids of bundles. Errors of writes get into conditions, and tenants
// read conditions. With an id, every agent could report for the bundle's cluster: see bundle.IDs. A gRPC error keeps
// the code. Any other error still unwraps to the original error.
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

// private wraps an error, and replaces the text by a text without ids.
type private struct {
	error
	text string
}

// Error implements error.
func (p private) Error() string { return p.text }

// Unwrap returns the wrapped error with the complete text.
func (p private) Unwrap() error { return p.error }
