package delivery

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/fixture/shape"
	"github.com/towline-io/towline/pkg/work"
)

// TestShape: few functions can change a plan, and the chains of calls are short. The checks and steps of all lists
// are counted.
func TestShape(t *testing.T) {
	shape.Users(t, "decision", 38)
	shape.Users(t, "relaying", 10)
	shape.Depth(t, "Decide", 8)
}

// TestReadingOrder: a reader who follows a call seldom goes back to an earlier file.
func TestReadingOrder(t *testing.T) {
	shape.Upward(t, []string{
		"doc.go", "gates.go", "decide.go",
		"revoke.go", "orphan.go", "end.go", "outage.go", "deliver.go", "move.go", "relocate.go", "release.go", "handover.go", "remove.go", "freeze.go",
		"relay.go", "operation.go", "adopt.go", "edits.go", "advance.go",
		"checks.go", "target.go", "older.go", "grant.go", "application.go", "source.go", "pause.go",
		"project.go", "volatile.go", "state.go", "gate.go", "draft.go", "events.go", "conditions.go", "view.go", "plan.go", "facts.go",
	}, 5)
}

// TestOneReaderOfStatuses: decisions read the status of a work only through the work.Report of view, and SameWork
// compares each part of the report, so that a change of a part wakes the controller.
func TestOneReaderOfStatuses(t *testing.T) {
	others := []string{"App", "app", "to", "hub", "seen", "Health", "shown", "reported"} // Applications, observations of a report, and their parts
	constructors := regexp.MustCompile(`work\.ReportOf\(`)
	for name, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if is && s.Sel.Name == "Status" && !slices.Contains(others, lastName(s.X)) {
				t.Errorf("%s reads %s.Status", name, lastName(s.X))
			}
			return true
		})
		if constructors.Match(text(t, name)) && !slices.Contains([]string{"view.go", "state.go"}, name) {
			t.Errorf("%s reads a report apart from the view", name)
		}
	}
}

// lastName returns the last name in an expression.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}

// TestWakeUpsCompareReports: workState has each part of work.Report, except parts derived from others, and words.
func TestWakeUpsCompareReports(t *testing.T) {
	state := string(text(t, "state.go"))
	for m := range reflect.TypeFor[*work.Report]().Methods() {
		compared := strings.Contains(state, "r."+m.Name+"(")
		if derived := m.Name == "OwnedBy" || m.Name == "Condition"; compared == derived {
			t.Errorf("state.go calls %s: %t", m.Name, compared)
		}
	}
}

// sources returns the files of the package, without tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	out := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if out[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func text(t *testing.T, file string) []byte {
	t.Helper()
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
