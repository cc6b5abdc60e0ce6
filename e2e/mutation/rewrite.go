package mutation

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// Mutant is a change of a source.
type Mutant struct {
	// ID is the mutant's number in the test binary, from 1.
	ID int

	// File is the path of the source, and Line the line of the change.
	File string
	Line int

	// Code is the changed code on one line, and Change the kind of the change.
	Code, Change string
}

// Kinds of changes.
const (
	negated   = "negated"
	bound     = "bound moved by one"
	leftGone  = "without its left side"
	rightGone = "without its right side"
	removed   = "removed"
)

// insertion is a text for the source, in place of some bytes.
type insertion struct {
	at, drops int
	text      string
}

// rewriter rewrites a file.
type rewriter struct {
	fset    *token.FileSet
	source  []byte
	name    string
	mutants []Mutant
	next    int

	// before are insertions in front of their place, the outermost first. behind are insertions after their place, the
	// innermost first.
	before, behind []insertion
}

// Rewrite returns a source with a switch for each mutant. The mutants' numbers begin with first, and lines stay at
// their place.
func Rewrite(name string, source []byte, first int) ([]byte, []Mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	r := &rewriter{fset: fset, source: source, name: name, next: first}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				r.inside(n.Body)
			}
			return false
		case *ast.FuncLit: // in a table of a package
			r.inside(n.Body)
			return false
		}
		return true
	})
	out, err := format.Source(r.assemble())
	return out, r.mutants, err
}

// inside visits a body in the order of the source, outer nodes before inner nodes.
func (r *rewriter) inside(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			return false
		}
		r.visit(n)
		return true
	})
}

// visit wraps the decisions of a node.
func (r *rewriter) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		r.removals(n.List)
	case *ast.CaseClause:
		r.removals(n.Body)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			r.conditions(n)
		}
	case *ast.IfStmt:
		r.condition(n.Cond)
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if i, ok := e.(*ast.Ident); ok && (i.Name == "true" || i.Name == "false") {
				r.wrap(e, negated, "mutantNot(%d, ", ")")
				r.mutants[len(r.mutants)-1].Code = r.text(n)
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			r.wrap(n, negated, "mutantNot(%d, ", ")")
		}
	case *ast.BinaryExpr:
		r.binary(n)
	}
}

// conditions wraps the conditions of a switch.
func (r *rewriter) conditions(n *ast.SwitchStmt) {
	for _, clause := range n.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			r.condition(e)
		}
	}
}

// condition negates the condition of a branch if the condition is a name or a call. Other conditions are handled as
// binary expressions.
func (r *rewriter) condition(e ast.Expr) {
	switch e := e.(type) {
	case *ast.CallExpr:
		r.wrap(e, negated, "mutantNot(%d, ", ")")
	case *ast.Ident:
		if first := e.Name[:1]; strings.ToLower(first) == first && e.Name != "nil" && e.Name != "true" {
			r.wrap(e, negated, "mutantNot(%d, ", ")")
		}
	}
}

func (r *rewriter) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.EQL, token.NEQ:
		r.wrap(n, negated, "mutantNot(%d, ", ")")
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		r.wrap(n, negated, "mutantNot(%d, ", ")")
		r.wrap(n, bound, "mutantBound(%d, \""+n.Op.String()+"\", ", ")")
		r.replace(n.OpPos, len(n.Op.String()), ",")
	case token.LAND, token.LOR:
		r.note(n, leftGone)
		r.wrap(n, rightGone, map[token.Token]string{token.LAND: "mutantAnd(%d, ", token.LOR: "mutantOr(%d, "}[n.Op], ") })")
		r.replace(n.OpPos, len(n.Op.String()), ", func() bool { return (")
	}
}

// removals makes statements removable: calls, assignments, and continue.
func (r *rewriter) removals(statements []ast.Stmt) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.ExprStmt:
			r.wrap(s, removed, "if mutantRuns(%d) { ", " }")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				r.wrap(s, removed, "if mutantRuns(%d) { ", " }")
			}
		case *ast.IncDecStmt:
			r.wrap(s, removed, "if mutantRuns(%d) { ", " }")
		case *ast.BranchStmt:
			if s.Tok == token.CONTINUE {
				r.wrap(s, removed, "if mutantRuns(%d) { ", " }")
			}
		}
	}
}

func (r *rewriter) note(n ast.Node, change string) int {
	r.mutants = append(r.mutants, Mutant{
		ID: r.next, File: r.name, Line: r.fset.Position(n.Pos()).Line,
		Code: r.text(n), Change: change,
	})
	r.next++
	return r.next - 1
}

// text returns the source of a node on one line.
func (r *rewriter) text(n ast.Node) string {
	return strings.Join(strings.Fields(string(r.source[r.offset(n.Pos()):r.offset(n.End())])), " ")
}

func (r *rewriter) wrap(n ast.Node, change, opening, closing string) {
	id := r.note(n, change)
	r.before = append(r.before, insertion{at: r.offset(n.Pos()), text: fmt.Sprintf(opening, id)})
	r.behind = append(r.behind, insertion{at: r.offset(n.End()), text: closing})
}

func (r *rewriter) replace(at token.Pos, drops int, text string) {
	r.before = append(r.before, insertion{at: r.offset(at), drops: drops, text: text})
}

func (r *rewriter) offset(p token.Pos) int { return r.fset.Position(p).Offset }

// assemble returns the source with all insertions. At the same place, closing texts come before opening texts.
func (r *rewriter) assemble() []byte {
	slices.Reverse(r.behind)
	byPlace := func(a, b insertion) int { return a.at - b.at }
	all := slices.Concat(r.behind, r.before)
	slices.SortStableFunc(all, byPlace)
	var out bytes.Buffer
	last := 0
	for _, i := range all {
		out.Write(r.source[last:i.at])
		out.WriteString(i.text)
		last = i.at + i.drops
	}
	out.Write(r.source[last:])
	return out.Bytes()
}

// helper returns the source of the functions that the rewritten files of a package call. A mutant of && and || has two
// numbers: the lower number for the left side.
func helper(pkg string) []byte {
	return []byte("package " + pkg + `

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
)

var (
	mutantOn, _    = strconv.Atoi(os.Getenv("MUTANT"))
	mutantReached  = os.Getenv("MUTANTS_REACHED")
	mutantsReached sync.Map
)

func mutantIs(id int) bool {
	if mutantReached != "" {
		if _, known := mutantsReached.LoadOrStore(id, true); !known {
			if f, err := os.OpenFile(mutantReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				fmt.Fprintln(f, id)
				f.Close()
			}
		}
	}
	return mutantOn == id
}

func mutantNot[B ~bool](id int, b B) B { return b != B(mutantIs(id)) }

func mutantRuns(id int) bool { return !mutantIs(id) }

func mutantAnd(id int, a bool, b func() bool) bool {
	left, right := mutantIs(id-1), mutantIs(id)
	return (a || left) && (right || b())
}

func mutantOr(id int, a bool, b func() bool) bool {
	left, right := mutantIs(id-1), mutantIs(id)
	return a && !left || !right && b()
}

func mutantBound[T cmp.Ordered](id int, op string, a, b T) bool {
	with := (op == "<=" || op == ">=") != mutantIs(id)
	if with && a == b {
		return true
	}
	if op[0] == '<' {
		return a < b
	}
	return a > b
}
`)
}
