package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// chartMetadata is Chart.yaml, with the tested fields.
type chartMetadata struct {
	Home        string   `json:"home"`
	Sources     []string `json:"sources"`
	Maintainers []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"maintainers"`
	Annotations map[string]string `json:"annotations"`
}

// chartLink is an entry of Artifact Hub's annotation of links.
type chartLink struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// chartCRD is an entry of Artifact Hub's annotation of CRDs.
type chartCRD struct {
	Kind        string `json:"kind"`
	Version     string `json:"version"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

// annotation decodes an annotation of the chart strictly.
func annotation[T any](t *testing.T, chart *chartMetadata, name string) (out T) {
	t.Helper()
	if err := sigsyaml.UnmarshalStrict([]byte(chart.Annotations[name]), &out); err != nil {
		t.Errorf("annotation %s: %v", name, err)
	}
	return out
}

func readChart(t *testing.T) (chart chartMetadata, text string) {
	t.Helper()
	data, err := os.ReadFile("chart/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(data, &chart); err != nil {
		t.Fatal(err)
	}
	return chart, string(data)
}

// repositoryURL returns the address of the repository, from the path of the Go module.
func repositoryURL(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module, _, _ := strings.Cut(strings.TrimPrefix(string(data), "module "), "\n")
	return "https://" + module
}

// TestChartMetadata: Chart.yaml names the repository, the maintainers, the licence and a category of Artifact Hub. Each
// link into the repository leads to an existing file.
func TestChartMetadata(t *testing.T) {
	chart, _ := readChart(t)
	repository := repositoryURL(t)
	if chart.Home != repository || !slices.Equal(chart.Sources, []string{repository}) {
		t.Errorf("home is %s, and sources are %v, want %s", chart.Home, chart.Sources, repository)
	}
	if len(chart.Maintainers) == 0 || chart.Maintainers[0].Name == "" || chart.Maintainers[0].URL != repository {
		t.Errorf("maintainers: %v", chart.Maintainers)
	}
	if got := chart.Annotations["artifacthub.io/category"]; got != "integration-delivery" {
		t.Errorf("category %q", got)
	}
	licence, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(licence), "Apache License") || chart.Annotations["artifacthub.io/license"] != "Apache-2.0" {
		t.Errorf("licence %q", chart.Annotations["artifacthub.io/license"])
	}
	links := annotation[[]chartLink](t, &chart, "artifacthub.io/links")
	if len(links) == 0 {
		t.Error("no links")
	}
	for _, l := range links {
		path := regexp.MustCompile(`^` + regexp.QuoteMeta(repository) + `/(tree|blob)/main/(.+)$`).FindStringSubmatch(l.URL)
		if path == nil {
			t.Errorf("the link %s leads out of the repository", l.URL)
			continue
		}
		if _, err := os.Stat(filepath.Join("..", path[2])); err != nil || l.Name == "" {
			t.Errorf("the link %q leads nowhere: %v", l.Name, err)
		}
	}
}

// TestChartNamesItsCRDs: the annotation of CRDs lists the CRDs of the chart, each with the stored version.
func TestChartNamesItsCRDs(t *testing.T) {
	chart, _ := readChart(t)
	listed := map[string]chartCRD{}
	for _, c := range annotation[[]chartCRD](t, &chart, "artifacthub.io/crds") {
		if c.DisplayName == "" || c.Description == "" {
			t.Errorf("%s lacks a name to display or a description", c.Name)
		}
		c.DisplayName, c.Description = "", ""
		listed[c.Name] = c
	}
	files, err := filepath.Glob("chart/files/crds/*.yaml")
	if err != nil || len(files) != len(listed) {
		t.Errorf("%d CRDs are listed, and the chart has %d: %v", len(listed), len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := sigsyaml.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			if want := (chartCRD{Kind: crd.Spec.Names.Kind, Version: v.Name, Name: crd.Name}); v.Storage && listed[crd.Name] != want {
				t.Errorf("listed is %v, want %v", listed[crd.Name], want)
			}
		}
	}
}

// TestChartChanges: a release appends the changes of the version to Chart.yaml. So the annotations must be the last key.
// A version without a section in CHANGELOG.md has the changes of the section Unreleased.
func TestChartChanges(t *testing.T) {
	_, text := readChart(t)
	run := exec.CommandContext(t.Context(), ".ci/chart-changes", "v99.0.0")
	run.Dir = ".."
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	var chart chartMetadata
	if err := sigsyaml.Unmarshal([]byte(text+string(out)), &chart); err != nil {
		t.Fatal(err)
	}
	changes := annotation[[]string](t, &chart, "artifacthub.io/changes")
	log, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(log), "\n## Unreleased\n")
	section, _, _ = strings.Cut(section, "\n## ")
	points := regexp.MustCompile(`(?m)^- `).FindAllString(section, -1)
	if len(points) == 0 || len(changes) != len(points) {
		t.Errorf("%d changes for %d points of CHANGELOG.md", len(changes), len(points))
	}
	for _, c := range changes {
		if c == "" || strings.Contains(c, "\n") {
			t.Errorf("a change over several lines, or without text: %q", c)
		}
	}
}
