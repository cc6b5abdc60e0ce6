package argocd_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/towline-io/towline/pkg/fixture/withoutcgo" // `go` runs in this test
)

// The root of the repository, and its module path.
const (
	root   = "../../.."
	module = "github.com/towline-io/towline/"
)

// readersFile has a line for each function that reads the status of an Application: the function, and a key of
// judgements.
const readersFile = "testdata/status_readers.txt"

// judgements are the permitted reasons for reading the status of an Application. A user with write access to an
// Application may write its whole status. Therefore no function may trust the status if a lie would harm a different
// user.
var judgements = map[string]string{
	"request": "a user stops an operation by the status; what runs on the cluster is read from the work",
	"own":     "conditions that Towline sets, and puts right",
	"self":    "a lie costs only the Application that carries the lie",
	"kept":    "what is shown until a source reports something else",
	"wake":    "wakes a controller, which reads the inventory",
	"shown":   "shown to users as the status that the hub has, as Argo CD does",
	"cluster": "an Application of a managed cluster, or a report, and not of the hub",
	"cache":   "trims or compares what a cache holds",
}

// TestReadersOfStatus fails for a function that reads the status of an Application without a judgement.
func TestReadersOfStatus(t *testing.T) {
	judged := readJudgements(t)
	found := statusReaders(t)
	for _, reader := range slices.Sorted(maps.Keys(found)) {
		if judged[reader] == "" {
			t.Errorf("%s reads the status of an Application (%s), which a tenant may have written: read the inventory or the work's feedback, "+
				"or judge the function in %s", reader, found[reader], readersFile)
		}
	}
	for reader, judgement := range judged {
		if judgements[judgement] == "" {
			t.Errorf("%s: there is no judgement %q", reader, judgement)
		}
		if found[reader] == "" {
			t.Errorf("%s reads the status of no Application any more: remove the line of %s", reader, readersFile)
		}
	}
}

func readJudgements(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(readersFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 2 && !strings.HasPrefix(line, "#") {
			out[fields[0]] = fields[1]
		}
	}
	return out
}

// statusReaders returns the functions of the program that use the field Status of argocd.Application, with the first
// position in each.
func statusReaders(t *testing.T) map[string]string {
	t.Helper()
	exports, packages := listed(t)
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	out := map[string]string{}
	for _, p := range packages {
		files := make([]*ast.File, len(p.files))
		for i, name := range p.files {
			file, err := parser.ParseFile(set, filepath.Join(p.dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files[i] = file
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.path, set, files, info); err != nil {
			t.Fatalf("%s: %v", p.path, err)
		}
		for _, file := range files {
			readersIn(set, strings.TrimPrefix(p.path, module), file, info, out)
		}
	}
	return out
}

// readersIn adds the readers of one file.
func readersIn(set *token.FileSet, pkg string, file *ast.File, info *types.Info, out map[string]string) {
	for _, d := range file.Decls {
		name := pkg + ".var"
		if f, is := d.(*ast.FuncDecl); is {
			name = pkg + "." + f.Name.Name
			if f.Recv != nil {
				name = pkg + "." + strings.Trim(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && isStatus(info.Selections[s]) && out[name] == "" {
				at := set.Position(s.Pos())
				out[name] = fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
			}
			return true
		})
	}
}

// isStatus returns whether an expression is the status of an Application.
func isStatus(s *types.Selection) bool {
	return s != nil && s.Kind() == types.FieldVal && s.Obj().Name() == "Status" &&
		types.TypeString(s.Obj().Type(), nil) == module+"pkg/apis/argocd.Status" &&
		strings.HasSuffix(strings.Trim(types.TypeString(s.Recv(), nil), "*"), "pkg/apis/argocd.Application")
}

// listedPackage is a package of the program.
type listedPackage struct {
	path, dir string
	files     []string
}

// listed returns the packages of the program, and the export files of all packages. Test tools are excluded.
func listed(t *testing.T) (exports map[string]string, packages []listedPackage) {
	t.Helper()
	const format = `{{.ImportPath}}|{{.Export}}|{{.Dir}}|{{range .GoFiles}}{{.}} {{end}}`
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", format, "./cmd/...", "./controllers/...", "./pkg/...")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &stderr
	data, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	exports = map[string]string{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		exports[fields[0]] = fields[1]
		ours := strings.HasPrefix(fields[0], module) && fields[0] != module+"pkg/apis/argocd"
		if ours && !strings.Contains(fields[0], "/pkg/fixture") && !strings.Contains(fields[0], "/simulation") {
			packages = append(packages, listedPackage{path: fields[0], dir: fields[2], files: strings.Fields(fields[3])})
		}
	}
	if len(packages) < 50 {
		t.Fatalf("only %d packages", len(packages))
	}
	return exports, packages
}
