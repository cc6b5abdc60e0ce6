package authorization_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gobwas/glob"

	"github.com/towline-io/towline/pkg/authorization"
)

// TestReadingOfArgoCD36 compares Towline's reading of patterns with both libraries: with Towline's version 0.2.3, and with the
// answers of version 1.0.0 in testdata/globs.txt (see .ci/tools/globs).
func TestReadingOfArgoCD36(t *testing.T) {
	answers, err := os.ReadFile("testdata/globs.txt")
	if err != nil {
		t.Fatal(err)
	}
	read, disputes, matches := 0, 0, 0
	for line := range strings.Lines(string(answers)) {
		var pattern, value string
		var latter, latterOfRepos bool
		if _, err := fmt.Sscanf(line, "%q %q %t %t", &pattern, &value, &latter, &latterOfRepos); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		former, readable := matchesFormer(pattern, value)
		formerOfRepos, readableOfRepos := matchesFormer(pattern, value, '/')
		if !readable || !readableOfRepos || authorization.Denies(pattern) {
			continue // Argo CD before 3.6 has no answer, and Towline permits nothing
		}
		read++
		if former != latter {
			disputes++
		}
		if former && latter {
			matches++
		}
		if got := authorization.Disputed(pattern, value); got != (former != latter) {
			t.Errorf("%q on %q: %t before 3.6, %t in 3.6, disputed %t", pattern, value, former, latter, got)
		}
		if got := authorization.Disputed(pattern, value, '/'); got != (formerOfRepos != latterOfRepos) {
			t.Errorf("%q on the repository %q: %t before 3.6, %t in 3.6, disputed %t", pattern, value, formerOfRepos, latterOfRepos, got)
		}
		if got := authorization.Matches(pattern, value); got != (former && latter || pattern == "*") {
			t.Errorf("%q on %q: %t before 3.6, %t in 3.6, matches %t", pattern, value, former, latter, got)
		}
	}
	t.Logf("%d patterns, %d disputed, %d match", read, disputes, matches)
	if read < 1000 || disputes < 50 || matches < 100 {
		t.Error("the answers say too little")
	}
}

// matchesFormer returns the answer of Towline's version of the library, and false without an answer.
func matchesFormer(pattern, value string, separators ...rune) (matches, readable bool) {
	defer func() {
		if recover() != nil {
			matches, readable = false, false
		}
	}()
	g, err := glob.Compile(pattern, separators...)
	if err != nil {
		return false, false
	}
	return g.Match(value), true
}
