package authorization

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/gobwas/glob"
	"k8s.io/utils/lru"
)

// patience is the time limit for a regular expression, because some expressions never end.
const patience = 100 * time.Millisecond

// maxGlob is the maximum length of a glob, in bytes. The library's time grows with the cube of the number of question
// marks: 2,000 take more than ten seconds. A longer glob permits nothing, and a longer "!" pattern forbids all.
const maxGlob = 512

// patternCharacters have a special meaning in a pattern.
const patternCharacters = `*?[]{}\!`

// denies reports whether a pattern forbids the matching values.
func denies(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// errNoAnswer is the error for a pattern without an answer from Argo CD.
var errNoAnswer = errors.New("it cannot be read")

// globs reports whether a glob matches in every version of Argo CD. An unreadable glob matches nothing.
func globs(pattern, text string, separators ...rune) bool {
	every, _, _ := glance(pattern, text, separators...)
	return every
}

// Disputed reports whether some versions of Argo CD match a glob, and other versions do not match the glob. A leading
// "!" does not count.
func Disputed(pattern, text string, separators ...rune) bool {
	every, some, _ := glance(strings.TrimPrefix(pattern, "!"), text, separators...)
	return every != some
}

// glance reports whether a glob matches in every version of Argo CD, and in some version. The error is errNoAnswer, or the
// library's error for an unreadable pattern.
func glance(pattern, text string, separators ...rune) (every, some bool, err error) {
	defer caught(&err)
	g, err := compileGlob(pattern, separators...)
	if err != nil {
		return false, false, err
	}
	former := g.former.Match(text)
	latter := g.latter != nil && g.latter.MatchString(text)
	return former && latter, former || latter, nil
}

// caught turns a panic of the library into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errNoAnswer, p)
	}
}

// A reading is a compiled glob.
type reading struct {
	// former has the meaning in Argo CD 2.14 to 3.5, which has gobwas/glob 0.2.3.
	former glob.Glob

	// latter has the meaning in Argo CD 3.6; nil for an unreadable glob.
	latter *regexp.Regexp
}

// readings has the compiled globs by pattern and separators. The time for a compilation is many times the time for a match.
var readings = lru.New(1024)

// compileGlob compiles a glob. It rejects long globs, because the library may take seconds for them.
func compileGlob(pattern string, separators ...rune) (_ reading, err error) {
	if len(pattern) > maxGlob {
		return reading{}, fmt.Errorf("%w: a pattern has at most %d characters, and this pattern has %d", errNoAnswer, maxGlob, len(pattern))
	}
	key := pattern + "\x00" + string(separators)
	if known, ok := readings.Get(key); ok {
		return known.(reading), nil
	}
	defer caught(&err)
	g, err := glob.Compile(pattern, separators...)
	if err != nil {
		return reading{}, err
	}
	r := reading{former: g}
	if latter, err := expression(pattern, separators...); err == nil {
		r.latter = latter
	}
	readings.Add(key, r)
	return r, nil
}

// matches reports whether a pattern of an AppProject matches in every version of Argo CD. A "!" pattern matches all values
// except the values that a version forbids. If Argo CD gets no answer from a "!" pattern, the pattern forbids all. As in
// Argo CD, a pattern refused by the library forbids nothing.
func matches(pattern, text string, separators ...rune) bool {
	if denies(pattern) {
		_, some, err := glance(pattern[1:], text, separators...)
		return !some && !errors.Is(err, errNoAnswer)
	}
	return pattern == "*" || globs(pattern, text, separators...)
}

// lists reports whether one of the patterns matches, as a glob or, between slashes, as a regular expression. In Argo
// CD (3.5), an empty expression between slashes does not count, because it would match everything.
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

// searches reports whether a regular expression, in Argo CD's dialect, matches a part of the text.
func searches(pattern, text string) bool {
	re, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return false
	}
	re.MatchTimeout = patience
	found, err := re.MatchString(text)
	return err == nil && found
}
