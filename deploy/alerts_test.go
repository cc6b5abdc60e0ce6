package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// alertFiles are the files of the PrometheusRules. The second file is only for hubs with works in Maestro, and the third
// file for hubs with clusters without Git.
var alertFiles = []string{
	"components/prometheus-rule/prometheus_rule.yaml", "maestro/monitoring/prometheus_rule.yaml", "source/monitoring/prometheus_rule.yaml",
}

// alert is an alerting rule of a PrometheusRule, or a recording rule with Record.
type alert struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type alertGroups struct {
	Groups []struct {
		Name  string  `json:"name"`
		Rules []alert `json:"rules"`
	} `json:"groups"`
}

// alerts returns the alerting rules of all groups.
func (g *alertGroups) alerts() (out []*alert) {
	for i := range g.Groups {
		for j := range g.Groups[i].Rules {
			if rule := &g.Groups[i].Rules[j]; rule.Record == "" {
				out = append(out, rule)
			}
		}
	}
	return out
}

// readAlerts returns the groups of all PrometheusRules, in the file format of Prometheus.
func readAlerts(t *testing.T) (out alertGroups) {
	t.Helper()
	for _, file := range alertFiles {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rule struct {
			Spec alertGroups `json:"spec"`
		}
		if err := sigsyaml.Unmarshal(data, &rule); err != nil {
			t.Fatal(err)
		}
		if len(rule.Spec.alerts()) == 0 {
			t.Fatalf("%s has no alert", file)
		}
		out.Groups = append(out.Groups, rule.Spec.Groups...)
	}
	return out
}

// promtool runs promtool, a program of Prometheus, in a folder. A failure fails the test.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v (it is in Debian's package prometheus)\n%s", args, err, out)
	}
}

func writeYAML(t *testing.T, file string, value any) {
	t.Helper()
	data, err := sigsyaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAlerts: Prometheus accepts the alerts, and the alerts pass the rule tests of testdata/alerts.yaml.
func TestAlerts(t *testing.T) {
	dir, rules := t.TempDir(), readAlerts(t)
	writeYAML(t, filepath.Join(dir, "rules.yaml"), rules)
	promtool(t, dir, "check", "rules", "rules.yaml")

	data, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tests map[string]any
	if err := sigsyaml.Unmarshal(data, &tests); err != nil {
		t.Fatal(err)
	}
	tests["rule_files"] = []string{"bare.yaml"}
	writeYAML(t, filepath.Join(dir, "tests.yaml"), tests)
	for _, a := range rules.alerts() {
		a.Annotations = nil // Otherwise each rule test has to repeat the annotations.
	}
	writeYAML(t, filepath.Join(dir, "bare.yaml"), rules)
	promtool(t, dir, "test", "rules", "tests.yaml")
}

// TestEachAlertIsTested: testdata/alerts.yaml has for each alert a test with a firing alert, and a test with a silent
// alert.
func TestEachAlertIsTested(t *testing.T) {
	data, err := os.ReadFile("testdata/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Tests []struct {
			Rules []struct {
				Name     string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := sigsyaml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, test := range all.Tests {
		for _, r := range test.Rules {
			if len(r.Expected) > 0 {
				fires[r.Name] = true
			} else {
				rests[r.Name] = true
			}
		}
	}
	rules, known := readAlerts(t), map[string]bool{}
	for _, a := range rules.alerts() {
		if known[a.Alert] = true; !fires[a.Alert] || !rests[a.Alert] {
			t.Errorf("alert %s: a test in which it fires: %t, and one in which it does not: %t", a.Alert, fires[a.Alert], rests[a.Alert])
		}
	}
	for name := range fires {
		if !known[name] {
			t.Errorf("testdata/alerts.yaml tests %s, which is no alert", name)
		}
	}
}
