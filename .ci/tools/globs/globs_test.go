// Package globs keeps the answers of version 1.0.0 of gobwas/glob, the library of Argo CD 3.6 for patterns. Towline has version
// 0.2.3, the library of Argo CD 2.14 to 3.5, and a program cannot have two versions. A test of pkg/authorization compares
// Towline's own reading with the answers.
package globs

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gobwas/glob"
)

var update = flag.Bool("update", false, "write the answers")

// TestAnswers: the file has the answers of the library: a line has a pattern, a value, the answer, and the answer with the
// separator of sourceRepos.
func TestAnswers(t *testing.T) {
	const file = "../../../pkg/authorization/testdata/globs.txt"
	random := rand.New(rand.NewPCG(1, 2))
	text := func(characters []rune, longest int) string {
		out := make([]rune, random.IntN(longest+1))
		for i := range out {
			out[i] = characters[random.IntN(len(characters))]
		}
		return string(out)
	}
	var want strings.Builder
	for range 4000 {
		pattern, value := text([]rune(`aab-é/***???[]{}!\,`), 7), text([]rune("aab-é/"), 4)
		fmt.Fprintf(&want, "%q %q %t %t\n", pattern, value, matches(pattern, value), matches(pattern, value, '/'))
	}
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want.String() {
		t.Errorf("%s differs from the answers of the library: run the test with -update (%v)", file, err)
	}
}

func matches(pattern, value string, separators ...rune) bool {
	g, err := glob.Compile(pattern, separators...)
	return err == nil && g.Match(value)
}
