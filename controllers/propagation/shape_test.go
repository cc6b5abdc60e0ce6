package propagation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestShape: only apply.go writes, only observe*.go reads, and watches*.go look up whom a change wakes.
func TestShape(t *testing.T) {
	writes := []string{"Create", "Update", "Patch", "Delete", "DeleteAllOf", "Apply", "Status", "SubResource", "Write", "Eventf"}
	reads := []string{"Get", "List"}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		may := func(prefix ...string) bool {
			return slices.ContainsFunc(prefix, func(p string) bool { return strings.HasPrefix(name, p) })
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && isPointerTo(n.Recv.List[0].Type, "Reconciler") {
					methods++
				}
			case *ast.CallExpr:
				called := calledWithContext(n)
				if slices.Contains(writes, called) && !may("apply") {
					t.Errorf("%s calls %s: only apply.go writes", name, called)
				}
				if slices.Contains(reads, called) && !may("observe", "watches") {
					t.Errorf("%s calls %s: only observe*.go read", name, called)
				}
			}
			return true
		})
	}
	if methods > 35 {
		t.Errorf("the Reconciler has %d methods: is one of them a decision?", methods)
	}
}

func isPointerTo(e ast.Expr, name string) bool {
	star, is := e.(*ast.StarExpr)
	if !is {
		return false
	}
	id, is := star.X.(*ast.Ident)
	return is && id.Name == name
}

// calledWithContext is the name of a method that is called with a context first, as all of a client's are; empty for others.
func calledWithContext(call *ast.CallExpr) string {
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is || len(call.Args) == 0 {
		return ""
	}
	if ctx, is := call.Args[0].(*ast.Ident); method.Sel.Name != "Eventf" && (!is || ctx.Name != "ctx") {
		return ""
	}
	return method.Sel.Name
}
