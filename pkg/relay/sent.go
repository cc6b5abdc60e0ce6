package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// noDigest replaces an empty Digest in an annotation.
const noDigest = "-"

// State is the progress of a request.
type State string

const (
	// OnItsWay means: the work carries the request, and the agent has not reported a result.
	OnItsWay State = "sent"

	// Delivered means: the agent has applied the request, once.
	Delivered State = "delivered"

	// Refused means: the agent could not apply the request, because the Application had changed meanwhile.
	Refused State = "refused"

	// Failed means: the agent could not apply the request for a different reason, for example a failure of the
	// cluster's API server.
	Failed State = "failed"
)

// RetryAfter is the wait before a failed request is sent again for the same version of the Application. The cause of a
// failure may be permanent, and each attempt takes two writes of the work.
const RetryAfter = 30 * time.Second

// Sent is the work's record of its last request. The zero value means: no request so far, or the last request is over.
// The record is an annotation. A cluster that changes the annotation can only harm its own requests.
type Sent struct {
	// State is the progress of the request.
	State State

	// ID is the identity of the request.
	ID string

	// Version is the resourceVersion of the cluster's Application for which the request was made. The request applies
	// only to this version, and therefore never meets an unknown operation.
	Version string

	// Digest is the digest of the operation; empty for a termination.
	Digest string

	// Instead is the digest of the Application that the work carried before a request under way; empty if unknown. The
	// cluster already has this Application, so Towline may put the Application back even if newer rules forbid it.
	Instead string

	// Since is when Towline noticed the failure, to the second. Zero in other states.
	Since time.Time
}

// retry returns the request as valid at now, and the remaining wait of a failed request. After the wait, the request
// has no Version: Towline sends the request again for the current version.
func (s Sent) retry(now time.Time) (Sent, time.Duration) {
	if s.State != Failed {
		return s, 0
	}
	left := RetryAfter - now.Sub(s.Since)
	if left > 0 {
		return s, left
	}
	s.Version = ""
	return s, 0
}

// ParseSent parses the format of String. Other text gives the zero value.
func ParseSent(annotation string) Sent {
	f := strings.Fields(annotation)
	if len(f) < 4 {
		return Sent{}
	}
	s := Sent{State: State(f[0]), ID: f[1], Version: f[2], Digest: f[3]}
	switch {
	case len(f) == 4 && (s.State == OnItsWay || s.State == Delivered || s.State == Refused):
	case len(f) == 5 && s.State == OnItsWay:
		s.Instead = f[4]
	case len(f) == 5 && s.State == Failed:
		var ok bool
		if s.Since, ok = parseSecond(f[4]); !ok {
			return Sent{}
		}
	default:
		return Sent{}
	}
	if s.Digest == noDigest {
		s.Digest = ""
	}
	return s
}

// String returns the annotation of the work for the request; empty for no request.
func (s Sent) String() string {
	if s.State == "" {
		return ""
	}
	digest := s.Digest
	if digest == "" {
		digest = noDigest
	}
	words := []string{string(s.State), s.ID, s.Version, digest}
	switch {
	case s.State == Failed:
		words = append(words, s.Since.UTC().Format(time.RFC3339))
	case s.State == OnItsWay && s.Instead != "":
		words = append(words, s.Instead)
	}
	return strings.Join(words, " ")
}

// Digest returns a digest of the operation without its identity; empty for an invalid operation.
func Digest(operation []byte) string {
	plain, err := WithID(operation, "")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:8])
}
