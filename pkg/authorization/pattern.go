package authorization

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/gobwas/glob"
)

// patience is how long one regular expression may take: they can be such that they never end.
const patience = 100 * time.Millisecond

// maxGlob is how long a pattern may be. The library takes time that grows with the cube of the question marks: for 2,000 more
// than ten seconds. A longer one permits nothing, and one that denies forbids all.
const maxGlob = 512

// denies tells whether a pattern forbids what it matches.
func denies(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// globs tells whether a glob matches; one that cannot be read matches nothing.
func globs(pattern, text string, separators ...rune) bool {
	matched, _ := tryGlob(pattern, text, separators...)
	return matched
}

// tryGlob tells whether a glob matches, and whether it makes the library panic, as some do.
func tryGlob(pattern, text string, separators ...rune) (matched, panicked bool) {
	defer func() {
		if recover() != nil {
			matched, panicked = false, true
		}
	}()
	if len(pattern) > maxGlob {
		return false, false
	}
	g, err := glob.Compile(pattern, separators...)
	return err == nil && g.Match(text), false
}

// compileGlob reads a glob. The library panics on some that it cannot read, and takes seconds for some that are long.
func compileGlob(pattern string, separators ...rune) (_ glob.Glob, err error) {
	if len(pattern) > maxGlob {
		return nil, fmt.Errorf("a pattern has at most %d characters, and this one has %d", maxGlob, len(pattern))
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return glob.Compile(pattern, separators...)
}

// matches tells whether a pattern of an AppProject matches. One that denies matches what it does not forbid. One by which Argo CD
// panics forbids all.
func matches(pattern, text string, separators ...rune) bool {
	if denies(pattern) {
		matched, panicked := tryGlob(pattern[1:], text, separators...)
		return len(pattern) <= maxGlob+1 && !matched && !panicked
	}
	return pattern == "*" || globs(pattern, text, separators...)
}

// lists tells whether one of the patterns matches, as a glob or, between slashes, as a regular expression. Nothing between
// slashes is none to Argo CD (3.5): it would match everything.
func lists(patterns []string, text string) bool {
	for _, p := range patterns {
		if strings.HasPrefix(p, "/") && strings.HasSuffix(p, "/") && len(p) > 2 && searches(p[1:len(p)-1], text) {
			return true
		}
		if globs(p, text) {
			return true
		}
	}
	return false
}

// searches tells whether a regular expression, in Argo CD's dialect, finds something in the text.
func searches(pattern, text string) bool {
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return false
	}
	re.MatchTimeout = patience
	found, err := re.MatchString(text)
	return err == nil && found
}
