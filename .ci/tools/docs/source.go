package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"strings"

	"golang.org/x/tools/go/packages"
)

// source is the code behind the generated pages.
type source struct {
	packages []*packages.Package

	// values are the initial values of the declared variables and constants, by package and name.
	values map[string]ast.Expr
}

// load reads and type-checks the packages with the declarations of metrics, conditions and keys.
func load(root string) (*source, error) {
	found, err := packages.Load(&packages.Config{
		Dir:  root,
		Mode: packages.LoadSyntax,
	}, "./controllers/...", "./cmd/towline", "./pkg/agent/...", "./pkg/apis", "./pkg/appinfo",
		"./pkg/clusterimport", "./pkg/delivery", "./pkg/dependency")
	if err != nil {
		return nil, err
	}
	if packages.PrintErrors(found) > 0 {
		return nil, fmt.Errorf("the code does not compile")
	}
	s := &source{packages: found, values: map[string]ast.Expr{}}
	for _, p := range found {
		inspect(p, func(spec *ast.ValueSpec) {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					s.values[p.PkgPath+"."+name.Name] = spec.Values[i]
				}
			}
		})
	}
	return s, nil
}

// inspect calls f for each syntax node of the type N in a package.
func inspect[N ast.Node](p *packages.Package, f func(N)) {
	for _, file := range p.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			if is, ok := n.(N); ok {
				f(is)
			}
			return true
		})
	}
}

// pkg returns a package of Towline by the path in the repository. A package outside the loaded packages is an error.
func (s *source) pkg(path string) (*packages.Package, error) {
	for _, p := range s.packages {
		if strings.HasSuffix(p.PkgPath, "/towline/"+path) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("there is no package %s", path)
}

// text returns the value of a constant string expression, and an empty string for all other expressions.
func text(p *packages.Package, e ast.Expr) string {
	if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// texts returns the elements of a list of constants: a literal, or a variable declared with a literal.
func (s *source) texts(p *packages.Package, e ast.Expr) (list []string, err error) {
	var name *ast.Ident
	switch e := e.(type) {
	case *ast.CompositeLit:
		for _, el := range e.Elts {
			list = append(list, text(p, el))
		}
		return list, nil
	case *ast.Ident:
		name = e
	case *ast.SelectorExpr:
		name = e.Sel
	default:
		return nil, fmt.Errorf("%s: a list that is not written out", p.Fset.Position(e.Pos()))
	}
	if name.Name == "nil" {
		return nil, nil
	}
	obj := p.TypesInfo.Uses[name]
	for _, of := range s.packages {
		if obj != nil && obj.Pkg() != nil && of.PkgPath == obj.Pkg().Path() {
			return s.texts(of, s.values[of.PkgPath+"."+name.Name])
		}
	}
	return nil, fmt.Errorf("%s: %s is declared elsewhere", p.Fset.Position(e.Pos()), name.Name)
}

// fields returns the values of the fields in a struct literal, by field name.
func fields(lit *ast.CompositeLit) map[string]ast.Expr {
	found := map[string]ast.Expr{}
	for _, el := range lit.Elts {
		if kv, is := el.(*ast.KeyValueExpr); is {
			if key, is := kv.Key.(*ast.Ident); is {
				found[key.Name] = kv.Value
			}
		}
	}
	return found
}
