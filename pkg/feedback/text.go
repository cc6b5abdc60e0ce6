package feedback

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxMessage is the maximum size of a shown message, in bytes. Argo CD's longest messages have the errors of a
	// whole sync, and people act on the first errors.
	MaxMessage = 2048

	// MaxRevision is the maximum size of a revision, in bytes: a commit, a tag, a chart version or an OCI digest.
	MaxRevision = 256

	// MaxWord is the maximum size of a user name and other short names, in bytes.
	MaxWord = 256

	// maxSpan is the maximum distance of a time from the epoch, in seconds. Clients with 64-bit nanoseconds can read
	// all times up to maxSpan.
	maxSpan = math.MaxInt64 / int64(time.Second)
)

// Time returns a time from a cluster in the format of the API server: in UTC, to the second. The bool is false for an
// invalid time or a time that clients cannot read.
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

// IsRevision returns whether a text from a cluster is a valid revision.
func IsRevision(s string) bool {
	return fits(s, MaxRevision, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// IsWord returns whether a text from a cluster is a valid short name.
func IsWord(s string) bool { return IsLine(s, MaxWord) }

// IsLine returns whether a text from a cluster is one printable line of at most limit bytes.
func IsLine(s string, limit int) bool {
	return fits(s, limit, func(r rune) bool { return !unicode.IsPrint(r) })
}

func fits(s string, limit int, bad func(rune) bool) bool {
	return s != "" && len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, bad)
}

// Clean makes a text from a cluster safe to show. Control characters and invisible characters become spaces, except
// line breaks and tabs. Spaces at both ends are removed. A text over limit bytes is cut at a character and ends in
// "…".
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
