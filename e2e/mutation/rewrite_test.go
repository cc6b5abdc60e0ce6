package mutation

import (
	"strings"
	"testing"
)

// TestRewrite: each decision is found and rewritten.
func TestRewrite(t *testing.T) {
	for body, want := range map[string]string{
		"return a == b":               "return mutantNot(1, a == b)",
		"return !ok":                  "return mutantNot(1, !ok)",
		"return true":                 "return mutantNot(1, true)",
		"return a && b":               "return mutantAnd(2, a, func() bool { return (b) })",
		"return a || b":               "return mutantOr(2, a, func() bool { return (b) })",
		"return n < 3":                `return mutantNot(1, mutantBound(2, "<", n, 3))`,
		"return !a && b":              "return mutantAnd(2, mutantNot(3, !a), func() bool { return (b) })",
		"if ok { return }":            "if mutantNot(1, ok) { return }",
		"if f() { return }":           "if mutantNot(1, f()) { return }",
		"switch { case f(): return }": "switch { case mutantNot(1, f()): return }",
		"switch s { case A: return }": "switch s { case A: return }",
		"f(a)":                        "if mutantRuns(1) { f(a) }",
		"x = 1":                       "if mutantRuns(1) { x = 1 }",
		"x := 1":                      "x := 1",
		"const c = 1 == 2":            "const c = 1 == 2",
		"for { continue }":            "for { if mutantRuns(1) { continue } }",
	} {
		out, mutants, err := Rewrite("x.go", []byte("package x\n\nfunc y() {\n"+body+"\n}\n"), 1)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		_, got, _ := strings.Cut(string(out), "func y() {")
		if got = strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimSpace(got), "}")), " "); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
		for i, m := range mutants {
			if m.ID != i+1 || m.Line != 4 {
				t.Errorf("%s: got %+v", body, m)
			}
		}
	}
}

// TestJudge: a mutant without a failed test and without an explanation is open. A useless explanation is open too.
func TestJudge(t *testing.T) {
	explained := []explanation{{"p/a.go", "x", negated, "it is the same"},
		{"p/a.go", "gone", negated, "it was"},
		{"q/a.go", "of another", negated, "there"}}
	s := judge([]Result{
		{Mutant: Mutant{File: "p/a.go", Code: "a", Change: negated}, Noticed: true, Reached: true},
		{Mutant: Mutant{File: "p/a.go", Code: "x", Change: negated}, Reached: true},
		{Mutant: Mutant{File: "p/a.go", Code: "x", Change: removed, Line: 3}},
	}, explained)
	const want = "p/a.go:3: not reached: removed: x\np/a.go: explained, and noticed or gone: negated: gone\n" +
		"p: 3 mutants, 1 noticed (33.3 %), 1 explained, 2 open"
	if got := s.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
