package matrix

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/reporters"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/towline-io/towline/e2e/fleet"
)

var update = flag.Bool("update", false, "write the golden files")

const root = "../.."

// old and mixed are the versions of small fleets.
var (
	old   = map[string]fleet.Versions{"hub": {Kubernetes: "v1.30.1", OCM: "v1.0.0", ArgoCD: "v2.14.1"}}
	mixed = map[string]fleet.Versions{
		"hub":      {Kubernetes: "v1.36.1", OCM: "v1.2.0", ArgoCD: "v3.5.7"},
		"cluster1": {Kubernetes: "v1.36.1", OCM: "v1.2.0", ArgoCD: "v3.5.7"},
		"cluster2": {Kubernetes: "v1.36.1", OCM: "v1.2.0", ArgoCD: "v2.14.1"},
		"cluster3": {Kubernetes: "v1.36.1", OCM: "v1.2.0", ArgoCD: "v3.5.7"},
	}
)

// ran is a report with the results of specs, in the form "name", "name !" (failed), "name ~ message" (skipped by the spec), or
// "name -" (not selected). A name that begins with long or maestro has the label.
func ran(end End, versions map[string]fleet.Versions, day int, specs ...string) types.Report {
	report := types.Report{
		StartTime: time.Date(2026, 11, day, 23, 30, 0, 0, time.UTC),
		SpecReports: types.SpecReports{{LeafNodeType: types.NodeTypeBeforeSuite, ReportEntries: types.ReportEntries{
			{Name: VersionsEntry, Value: types.WrapEntryValue(Run{End: end, Versions: versions})},
		}}},
	}
	if versions == nil {
		report.SpecReports = nil
	}
	for _, text := range specs {
		s := types.SpecReport{LeafNodeType: types.NodeTypeIt, State: types.SpecStatePassed}
		name, message, skipped := strings.Cut(text, " ~ ")
		if skipped {
			s.State, s.Failure.Message = types.SpecStateSkipped, message
		}
		if before, cut := strings.CutSuffix(name, " !"); cut {
			name, s.State = before, types.SpecStateTimedout
		}
		if before, cut := strings.CutSuffix(name, " -"); cut {
			name, s.State = before, types.SpecStateSkipped
		}
		label, _, _ := strings.Cut(name, " ")
		s.ContainerHierarchyLabels = [][]string{{}, {label}}
		s.ContainerHierarchyTexts = []string{"A work", name}
		report.SpecReports = append(report.SpecReports, s)
	}
	return report
}

// saved writes reports as Ginkgo does, and returns their folder.
func saved(t *testing.T, reports ...types.Report) string {
	t.Helper()
	folder := t.TempDir()
	for i, r := range reports {
		if err := reporters.GenerateJSONReport(r, filepath.Join(folder, string(rune('z'-i))+".json")); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestMerge makes records from reports of Ginkgo, and compares records and blocks of the page with golden files.
func TestMerge(t *testing.T) {
	hooks := Lacks("Argo CD 2.14 on the clusters", "hooks before a deletion")
	for name, tc := range map[string]struct {
		reports []types.Report
		want    string // a part of the only problem
	}{
		"two-halves": {reports: []types.Report{
			ran("default", mixed, 28, "moves", "stays -", "long wait", "maestro only -"),
			ran("default", mixed, 28, "moves -", "stays", "long wait -", "maestro only -"),
		}},
		"oldest-in-parts": {reports: []types.Report{
			ran("oldest", old, 27, "moves !", "runs hooks ~ "+hooks, "runs more hooks -", "renamed", "stays -", "long wait -"),
			ran("oldest", old, 28, "moves", "runs hooks -", "runs more hooks -", "stays -", "long wait -"),
			ran("oldest", old, 29, "moves -", "runs hooks -", "runs more hooks ~ "+hooks, "stays -", "long wait -",
				"counts ~ "+Lacks("Argo CD 2.14 on the hub", "counts"), "follows ~ Spec skipped because an earlier spec failed"),
		}},
		"failed-later": {want: `the spec "A work moves" failed`, reports: []types.Report{
			ran("newest", mixed, 27, "moves", "stays"),
			ran("newest", mixed, 28, "moves !", "stays -"),
		}},
		"nothing-ran": {want: "no spec passed", reports: []types.Report{ran("newest", mixed, 27, "moves -", "long wait -")}},
	} {
		t.Run(name, func(t *testing.T) {
			reports, err := read(saved(t, tc.reports...))
			if err != nil {
				t.Fatal(err)
			}
			record := merge(reports)
			golden(t, name+".golden", string(record.encode())+"\n"+record.text())
			problems := record.problems(record.Versions)
			if tc.want == "" && len(problems) > 0 || tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], tc.want)) {
				t.Errorf("problems: %q", problems)
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s", file, got)
	}
}

// TestProblems: a record with other versions than the fleet, or with changed numbers, may not stay.
func TestProblems(t *testing.T) {
	good := func() Record {
		return Record{End: "oldest", Versions: old, Short: Results{Specs: 2, Passed: 1, NotTried: []string{"stays"}}}
	}
	for name, tc := range map[string]struct {
		change func(*Record)
		want   string
	}{
		"good":           {func(*Record) {}, ""},
		"other versions": {func(r *Record) { r.Versions = mixed }, "cluster1 had {Kubernetes:v1.36.1"},
		"a newer hub": {
			func(r *Record) { r.Versions = map[string]fleet.Versions{"hub": mixed["hub"]} },
			"run `make e2e-oldest` again, then `make matrix`",
		},
		"no versions":     {func(r *Record) { r.Versions = nil }, "run `make e2e-oldest` again"},
		"a failed spec":   {func(r *Record) { r.Short.Specs, r.Short.Failed = 3, []string{"moves"} }, `the spec "moves" failed`},
		"a failed long":   {func(r *Record) { r.Long = Results{Specs: 1, Failed: []string{"waits"}} }, `the spec "waits" failed`},
		"changed numbers": {func(r *Record) { r.Short.Passed = 2 }, "do not add up"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			tc.change(&r)
			problems := r.problems(old)
			if (tc.want == "") != (len(problems) == 0) || tc.want != "" && !strings.Contains(problems[0], tc.want) {
				t.Errorf("problems: %q", problems)
			}
		})
	}
}

// TestUnusableReports: two specs with the same text, and a file of another program, are errors.
func TestUnusableReports(t *testing.T) {
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "first.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{
		"two specs with a text":     saved(t, ran("default", old, 27, "moves", "moves -")),
		"a file of another program": other,
	} {
		if reports, err := read(folder); err == nil {
			t.Errorf("%s: %+v", name, reports)
		}
	}
}

// copied returns a folder with the page of the repository, and with an empty folder of records.
func copied(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, dir := range []string{filepath.Dir(pageFile), filepath.Dir(Ends[0].file())} {
		if err := os.MkdirAll(filepath.Join(folder, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, pageFile), page, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestUpdate: reports with the versions of the present fleet become records and blocks of the page. The reports of other
// versions are left out, and the remaining ends keep their blocks.
func TestUpdate(t *testing.T) {
	now, err := End("oldest").planned()
	if err != nil {
		t.Fatal(err)
	}
	folder := copied(t)
	reports := saved(t, ran("oldest", now, 27, "moves", "stays"), ran("oldest", old, 28, "moves !", "stays"), ran("default", mixed, 28, "moves"),
		ran("oldest", nil, 29, "dry"))
	leftOut, err := Update(folder, reports)
	if err != nil || len(leftOut) != 3 {
		t.Fatalf("left out: %q, %v", leftOut, err)
	}
	if err := WritePage(folder); err != nil {
		t.Fatal(err)
	}
	if err := Check(folder); err != nil {
		t.Error(err)
	}
	records, err := Records(folder)
	if err != nil || len(records) != 1 || records[0].Short.Passed != 2 {
		t.Fatalf("records: %+v, %v", records, err)
	}
	page, err := os.ReadFile(filepath.Join(folder, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "Of the 2 short specs, 2 ran and passed.") {
		t.Errorf("the page has no block of the record:\n%s", page)
	}

	stale := strings.Replace(string(page), "Of the 2 short", "Of the 3 short", 1)
	if err := os.WriteFile(filepath.Join(folder, pageFile), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if current, err := isCurrent(folder); current || err != nil {
		t.Errorf("a changed block of the page is current: %v", err)
	}
}

func isCurrent(root string) (bool, error) {
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return false, err
	}
	records, err := Records(root)
	if err != nil {
		return false, err
	}
	text, err := fill(string(page), records)
	return text == string(page), err
}

// TestRecords: the records of the repository have the versions of the fleet and no failed spec, and the page has the records.
func TestRecords(t *testing.T) {
	if err := Check(root); err != nil {
		t.Error(err)
	}
	if current, err := isCurrent(root); !current || err != nil {
		t.Errorf("docs/compatibility.md is not current, run `make generate`: %v", err)
	}
}
