package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// constants returns the constants of pkg/apis with a name prefix: names, values and comments, in the order of the files.
// A constant without a comment, and a prefix without a constant, are errors.
func (s *source) constants(prefix string) (found []named, err error) {
	p, err := s.pkg("pkg/apis")
	if err != nil {
		return nil, err
	}
	inspect(p, func(decl *ast.GenDecl) {
		for _, spec := range decl.Specs {
			v, is := spec.(*ast.ValueSpec)
			if !is || !strings.HasPrefix(v.Names[0].Name, prefix) {
				continue
			}
			name := v.Names[0].Name
			obj, is := p.TypesInfo.Defs[v.Names[0]].(*types.Const)
			if !is {
				continue
			}
			comment := v.Doc
			if comment == nil {
				comment = decl.Doc
			}
			found = append(found, named{
				name: name, value: strings.Trim(obj.Val().ExactString(), `"`), meaning: meaning(name, comment.Text()),
				file: p.Fset.Position(v.Pos()).Filename,
			})
		}
	})
	for _, c := range found {
		if c.meaning == "" {
			return nil, fmt.Errorf("%s has no comment", c.name)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("pkg/apis has no constant %s…", prefix)
	}
	return found, nil
}

// named is a constant with its comment.
type named struct{ name, value, meaning, file string }

// byWhom finds the sentence about the writer of a condition in a comment. The page has a separate column for the writer.
var byWhom = regexp.MustCompile(`\s*Written by [^.]*\.`)

// meaning returns a comment without the constant's name in front.
func meaning(name, comment string) string {
	comment = strings.Join(strings.Fields(comment), " ")
	for _, joint := range []string{": ", " is ", " are ", ", ", " "} {
		if rest, cut := strings.CutPrefix(comment, name+joint); cut {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return comment
}

// literals returns the fields of each struct literal in a variable with a list of structs. An empty or missing list is an
// error.
func (s *source) literals(path, variable string) (*packages.Package, []map[string]ast.Expr, error) {
	p, err := s.pkg(path)
	if err != nil {
		return nil, nil, err
	}
	var rows []map[string]ast.Expr
	inspect(p, func(file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			var to, from []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				to, from = n.Lhs, n.Rhs
			case *ast.ValueSpec:
				to, from = []ast.Expr{n.Names[0]}, n.Values
			default:
				return true
			}
			name, is := to[0].(*ast.Ident)
			if !is || name.Name != variable || len(from) != 1 {
				return true
			}
			if lit, is := from[0].(*ast.CompositeLit); is {
				for _, el := range lit.Elts {
					if row, is := el.(*ast.CompositeLit); is {
						rows = append(rows, fields(row))
					}
				}
			}
			return true
		})
	})
	if len(rows) == 0 {
		return nil, nil, fmt.Errorf("%s has no table %s", path, variable)
	}
	return p, rows, nil
}

// conditions returns the page of the conditions, and of the reasons of conditions, events and metrics.
func (s *source) conditions() (string, error) {
	types, err := s.constants("Condition")
	if err != nil {
		return "", err
	}
	reasons, err := s.constants("Reason")
	if err != nil {
		return "", err
	}
	p, rules, err := s.literals("pkg/apis", "ConditionRules")
	if err != nil {
		return "", err
	}
	meanings := map[string]string{}
	for _, c := range types {
		meanings[c.value] = strings.TrimSpace(byWhom.ReplaceAllString(c.meaning, ""))
	}
	var rows [][]string
	ofApplication := map[string]bool{}
	for _, rule := range rules {
		typ := text(p, rule["Type"])
		ofApplication[typ] = true
		row := "no"
		if in := text(p, rule["Row"]); in == typ {
			row = "yes"
		} else if in != "" {
			row = "as " + code(in)
		}
		rows = append(rows, []string{code(typ), owner(text(p, rule["Owner"])), row, cell(meanings[typ])})
	}
	page := "# Conditions and reasons\n\n" +
		"[The reference](../reference.md#why-an-application-is-not-sent) has the remedy for each reason.\n\n" +
		"## Conditions of a hub Application\n\n" + table([]string{"type", "set by", "in the report", "meaning"}, rows)

	rows = nil
	for _, c := range types {
		if !ofApplication[c.value] && c.value != "AdditionalStatusReport" {
			rows = append(rows, []string{code(c.value), of(c.file), cell(meanings[c.value])})
		}
	}
	page += "## Conditions of other objects\n\n" + table([]string{"type", "of", "meaning"}, rows)

	gates, err := s.gates()
	if err != nil {
		return "", err
	}
	slices.SortFunc(reasons, func(a, b named) int { return strings.Compare(a.value, b.value) })
	rows = nil
	for _, r := range reasons {
		shown := gates[r.value]
		slices.Sort(shown)
		rows = append(rows, []string{code(r.value), strings.Join(slices.Compact(shown), ", "), cell(r.meaning)})
	}
	return page + "## Reasons\n\nThese are the reasons of conditions and events, and the values of the label `reason` of metrics. The second column has the condition\nof the reason, if a condition shows the reason.\n\n" +
		table([]string{"reason", "condition", "meaning"}, rows), nil
}

// owner returns the writer of a condition in the words of the page.
func owner(word string) string {
	if word == "cluster" {
		return "the cluster's Argo CD"
	}
	return word
}

// of returns the kind of the object with the conditions declared in a file.
func of(file string) string {
	switch file[strings.LastIndex(file, "/")+1:] {
	case "gitopscluster.go":
		return "GitOpsCluster"
	case "report.go":
		return "MulticlusterApplicationSetReport"
	default:
		return "Application"
	}
}

// gates returns the conditions of each reason, from the Gate literals of delivery, dependency and clusterimport.
func (s *source) gates() (map[string][]string, error) {
	shown := map[string][]string{}
	for _, path := range []string{"pkg/delivery", "pkg/dependency", "pkg/clusterimport"} {
		p, err := s.pkg(path)
		if err != nil {
			return nil, err
		}
		inspect(p, func(lit *ast.CompositeLit) {
			if !isGate(p.TypesInfo.Types[lit].Type) {
				return
			}
			row := fields(lit)
			reason, condition := text(p, row["Reason"]), text(p, row["Type"])
			if path == "pkg/clusterimport" {
				condition = "of the GitOpsCluster"
			} else if condition != "" {
				condition = code(condition)
			}
			if reason != "" && condition != "" {
				shown[reason] = append(shown[reason], condition)
			}
		})
	}
	return shown, nil
}

// isGate tells whether a type is a Gate, or a pointer to a Gate. A Gate is the type of a reason to wait.
func isGate(t types.Type) bool {
	if p, is := t.(*types.Pointer); is {
		t = p.Elem()
	}
	named, is := types.Unalias(t).(*types.Named)
	return is && named.Obj().Name() == "Gate"
}
