package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// noDigest stands for an empty Digest in an annotation.
const noDigest = "-"

// State is how far a request has come.
type State string

const (
	// OnItsWay means: the work carries it, and the agent has not said what became of it.
	OnItsWay State = "sent"

	// Delivered means: the agent has applied it, once.
	Delivered State = "delivered"

	// Refused means: the agent could not apply it, because the Application had changed meanwhile.
	Refused State = "refused"

	// Failed means: the agent could not apply it for another reason, as where the API server of the cluster fails.
	Failed State = "failed"
)

// RetryAfter is how long a request that failed waits before it is sent again for the same version of the Application: what
// refuses it may refuse it for ever, and each time takes two writes of the work.
const RetryAfter = 30 * time.Second

// Sent is what a work remembers of the last request that it carried. The zero value: it never carried one, or that
// one is over. It is an annotation, which a cluster may change: that can only harm the requests to that cluster.
type Sent struct {
	// State is how far it has come.
	State State

	// ID is the identity of the request.
	ID string

	// Version is the resourceVersion of the cluster's Application that the request was made for. It cannot be
	// applied to any other, so that it never meets an operation that nobody knew of.
	Version string

	// Digest is that of the operation; empty for a termination.
	Digest string

	// Instead is the digest of the Application that the work carried before, of a request that is on its way; empty where that is
	// not known. The cluster has that Application already, so that it may be put back whatever rules say by then.
	Instead string

	// Since is when one that failed was found to have, to the second; zero for others.
	Since time.Time
}

// Retry is the request as it counts at a time, and how long one that failed is still to wait. One that has waited counts as
// made for no version: it is sent again for the one that is there.
func (s Sent) Retry(now time.Time) (Sent, time.Duration) {
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

// ParseSent reads what String wrote. Anything else is no request.
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

// String is the annotation by which a work remembers the request; empty for none.
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

// Digest tells operations apart by what they ask for, whatever their identities. It is empty for what is none.
func Digest(operation []byte) string {
	plain, err := WithID(operation, "")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:8])
}
