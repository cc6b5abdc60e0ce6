package authorization

import (
	"errors"
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

// patternCharacters have a special meaning in a pattern.
const patternCharacters = `*?[]{}\!`

// denies tells whether a pattern forbids what it matches.
func denies(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// errNoAnswer says that a pattern is not one that Argo CD gets an answer from.
var errNoAnswer = errors.New("it cannot be read")

// globs tells whether a glob matches; one that cannot be read matches nothing.
func globs(pattern, text string, separators ...rune) bool {
	matched, _ := glance(pattern, text, separators...)
	return matched
}

// glance tells whether a glob matches. The error is errNoAnswer, or what the library says of a pattern that it cannot read.
func glance(pattern, text string, separators ...rune) (matched bool, err error) {
	defer caught(&err)
	g, err := compileGlob(pattern, separators...)
	if err != nil {
		return false, err
	}
	return g.Match(text), nil
}

// caught makes an error of a panic of the library.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errNoAnswer, p)
	}
}

// compileGlob reads a glob. The library takes seconds for some that are long.
func compileGlob(pattern string, separators ...rune) (_ glob.Glob, err error) {
	if len(pattern) > maxGlob {
		return nil, fmt.Errorf("%w: a pattern has at most %d characters, and this one has %d", errNoAnswer, maxGlob, len(pattern))
	}
	defer caught(&err)
	return glob.Compile(pattern, separators...)
}

// matches tells whether a pattern of an AppProject matches. One that denies matches what it does not forbid. Where Argo CD gets no
// answer from that, all is forbidden. A pattern that its library of globs refuses forbids nothing, as with Argo CD.
func matches(pattern, text string, separators ...rune) bool {
	if denies(pattern) {
		matched, err := glance(pattern[1:], text, separators...)
		return !matched && !errors.Is(err, errNoAnswer)
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
