package feedback

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxMessage is how many bytes of a message are shown. Argo CD's longest carry the errors of a whole
	// sync; the first of them is what people act on.
	MaxMessage = 2048

	// MaxRevision bounds a revision: a commit, a tag, a chart version or an OCI digest.
	MaxRevision = 256

	// MaxWord bounds a user name and other short names.
	MaxWord = 256

	// maxSpan bounds how far from the epoch a time may be, so that clients with 64-bit nanoseconds can read it.
	maxSpan = math.MaxInt64 / int64(time.Second)
)

// Time is a time from a cluster as the API server would have written it: in UTC, to the second. It tells whether the
// text is a time at all, one that clients can read.
func Time(s string) (string, bool) {
	if len(s) > len(time.RFC3339Nano) {
		return "", false
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Unix() < 0 || t.Unix() > maxSpan {
		return "", false
	}
	return t.UTC().Format(time.RFC3339), true
}

// IsRevision tells whether a text from a cluster can be a revision.
func IsRevision(s string) bool {
	return fits(s, MaxRevision, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// IsWord tells whether a text from a cluster can be a short name.
func IsWord(s string) bool { return IsLine(s, MaxWord) }

// IsLine tells whether a text from a cluster is one printable line of so many bytes at most.
func IsLine(s string, limit int) bool {
	return fits(s, limit, func(r rune) bool { return !unicode.IsPrint(r) })
}

func fits(s string, limit int, bad func(rune) bool) bool {
	return s != "" && len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, bad)
}

// Clean makes a text from a cluster fit to be shown: what would steer a terminal or cannot be seen becomes a
// space, and a text over limit bytes is cut at a character and ends in "…".
func Clean(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return ' '
	}, s)
	s = strings.TrimSpace(s)
	if !cut {
		return s
	}
	const ellipsis = "…"
	for len(s) > limit-len(ellipsis) {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + ellipsis
}
