package mutation

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed explained.yaml
var explained []byte

// explanation is the reason why no test must detect some changes.
type explanation struct {
	// File, Code and Change identify the mutants.
	File, Code, Change string

	// Why is the effect of the change.
	Why string
}

// Score is the result for the mutants of a package.
type Score struct {
	Package string

	// All is the number of mutants. Noticed mutants made a test fail, Explained mutants have an explanation, and Open
	// are all remaining mutants.
	All, Noticed, Explained, Open int

	lines []string
}

// Judge counts results, and lists each open mutant.
func Judge(results []Result) (Score, error) {
	var known []explanation
	err := yaml.UnmarshalStrict(explained, &known)
	return judge(results, known), err
}

func judge(results []Result, known []explanation) Score {
	s := Score{Package: filepath.Dir(results[0].File), All: len(results)}
	used := map[explanation]bool{}
	for _, r := range results {
		why := explanation{}
		for _, e := range known {
			if e.File == r.File && e.Code == r.Code && e.Change == r.Change {
				why = e
			}
		}
		switch {
		case r.Noticed:
			s.Noticed++
		case why.Why != "":
			s.Explained++
			used[why] = true
		default:
			s.Open++
			word := "not noticed"
			if !r.Reached {
				word = "not reached"
			}
			s.lines = append(s.lines, fmt.Sprintf("%s:%d: %s: %s: %s", r.File, r.Line, word, r.Change, r.Code))
		}
	}
	for _, e := range known {
		if filepath.Dir(e.File) == s.Package && !used[e] {
			s.Open++
			s.lines = append(s.lines, fmt.Sprintf("%s: explained, and noticed or gone: %s: %s", e.File, e.Change, e.Code))
		}
	}
	return s
}

// String returns the list of open mutants, and the score on the last line.
func (s Score) String() string {
	score := fmt.Sprintf("%s: %d mutants, %d noticed (%.1f %%), %d explained, %d open",
		s.Package, s.All, s.Noticed, 100*float64(s.Noticed)/float64(s.All), s.Explained, s.Open)
	return strings.Join(append(s.lines, score), "\n")
}
