package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
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

	// Refused means: the agent could not apply it, most often because the Application had changed meanwhile.
	Refused State = "refused"
)

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
}

// ParseSent reads what String wrote. Anything else is no request.
func ParseSent(annotation string) Sent {
	f := strings.Fields(annotation)
	if len(f) != 4 {
		return Sent{}
	}
	s := Sent{State: State(f[0]), ID: f[1], Version: f[2], Digest: f[3]}
	if s.State != OnItsWay && s.State != Delivered && s.State != Refused {
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
	return strings.Join([]string{string(s.State), s.ID, s.Version, digest}, " ")
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
