package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// panel is a Grafana panel, with the tested fields.
type panel struct {
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  dataSource `json:"datasource"`
	Links       []struct {
		URL string `json:"url"`
	} `json:"links"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

type dataSource struct {
	UID string `json:"uid"`
}

// dashboard is a Grafana dashboard, with the tested fields.
type dashboard struct {
	ID          *int    `json:"id"`
	UID         string  `json:"uid"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Panels      []panel `json:"panels"`
	Templating  struct {
		List []struct {
			Type       string      `json:"type"`
			Datasource *dataSource `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
}

// readDashboards returns all dashboards by file name.
func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("components/dashboards/*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("found %v, %v, want four files", files, err)
	}
	found := map[string]dashboard{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[filepath.Base(file)] = d
	}
	return found
}

// TestDashboards: any Grafana can import each dashboard. Each panel has a title, a description, a unit and a query.
// Each link of a panel leads to the runbook of an alert.
func TestDashboards(t *testing.T) {
	rules, sections := readAlerts(t), map[string]bool{}
	for _, a := range rules.alerts() {
		sections[runbooks+strings.ToLower(a.Alert)] = true
	}
	files := map[string]string{}
	for file, d := range readDashboards(t) {
		if other, twice := files[d.UID]; twice || d.UID == "" {
			t.Errorf("%s has the uid %q, and so has %q", file, d.UID, other)
		}
		files[d.UID] = file
		if d.ID != nil || d.Title == "" || d.Description == "" {
			t.Errorf("%s has an id of one Grafana, or lacks a title or a description", file)
		}
		if v := d.Templating.List; len(v) == 0 || v[0].Type != "datasource" {
			t.Errorf("%s does not let people choose a data source first", file)
		}
		for _, v := range d.Templating.List {
			if v.Datasource != nil && v.Datasource.UID != "${datasource}" {
				t.Errorf("%s: a variable has the data source %q", file, v.Datasource.UID)
			}
		}
		if len(d.Panels) < 6 || len(d.Panels) > 10 {
			t.Errorf("%s has %d panels: from six to ten can be taken in", file, len(d.Panels))
		}
		for _, p := range d.Panels {
			checkPanel(t, file, &p, sections)
		}
	}
}

func checkPanel(t *testing.T, file string, p *panel, sections map[string]bool) {
	t.Helper()
	if p.Title == "" || !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
		t.Errorf("%s: panel %q lacks a title, a sentence, a unit or a query", file, p.Title)
	}
	if p.Datasource.UID != "${datasource}" {
		t.Errorf("%s: panel %q has the data source %q", file, p.Title, p.Datasource.UID)
	}
	for _, link := range p.Links {
		if !sections[link.URL] {
			t.Errorf("%s: panel %q links to %s, which is no runbook", file, p.Title, link.URL)
		}
	}
}

// grafana replaces the variables of Grafana in a query with values.
var grafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".*")

// recording is a recording rule for Prometheus, with the query of a panel.
type recording struct {
	Record string `json:"record"`
	Expr   string `json:"expr"`
}

var (
	metric   = regexp.MustCompile(`\btowline_[a-z0-9_]+`)
	ofBucket = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestDashboardQueries: Prometheus accepts each query, and docs/reference/metrics.md has each of Towline's metrics in
// the queries. The e2e suite sends the queries to a real Prometheus.
func TestDashboardQueries(t *testing.T) {
	reference, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []recording
	for file, d := range readDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expr := grafana.Replace(target.Expr)
				if strings.Contains(expr, "$") || expr == "" {
					t.Errorf("%s: panel %q has a variable that this test does not know, or no query: %q", file, p.Title, expr)
				}
				rules = append(rules, recording{Record: fmt.Sprintf("query:%d", len(rules)), Expr: expr})
				for _, name := range metric.FindAllString(expr, -1) {
					if name = ofBucket.ReplaceAllString(name, ""); !regexp.MustCompile("(?m)^\\| `" + name + "[{`]").Match(reference) {
						t.Errorf("%s: panel %q is about %s, which docs/reference/metrics.md does not have", file, p.Title, name)
					}
				}
			}
		}
	}
	dir := t.TempDir()
	writeYAML(t, filepath.Join(dir, "queries.yaml"), map[string]any{"groups": []map[string]any{{"name": "queries", "rules": rules}}})
	promtool(t, dir, "check", "rules", "queries.yaml")
}
