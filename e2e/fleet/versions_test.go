package fleet

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLoggedVersion reads the lines that the programs really write. The last start counts.
func TestLoggedVersion(t *testing.T) {
	const (
		agent  = "I1130 09:29:42.414532   22602 builder.go:313] registration-agent version v1.2.1-"
		commit = "I1130 09:29:42.414532   22602 builder.go:313] registration-controller version v1.0.0-0123abc"
		text   = `time="2026-11-30T09:29:39Z" level=info msg="ArgoCD Application Controller is starting" ` +
			`built="1970-01-01T00:00:00Z" commit= namespace=argocd version=v2.14.21+unknown`
		json = `{"built":"1970-01-01T00:00:00Z","commit":"","level":"info","msg":"ArgoCD API Server is starting",` +
			`"namespace":"argocd","port":24103,"time":"2026-11-29T17:23:35Z","version":"v3.5.7+unknown"}`
		noise = `level=info msg="Comparing" version=v9.9.9`
	)
	for name, tc := range map[string]struct {
		start *regexp.Regexp
		lines []string
		want  string
	}{
		"OCM":                     {ocmStart, []string{"--- start", agent, noise}, "v1.2.1"},
		"OCM with a commit":       {ocmStart, []string{commit}, "v1.0.0"},
		"Argo CD, text":           {argoStart, []string{noise, text, noise}, "v2.14.21"},
		"Argo CD, JSON":           {argoStart, []string{noise, json, noise}, "v3.5.7"},
		"Argo CD after a restart": {argoStart, []string{text, json}, "v3.5.7"},
		"no start":                {argoStart, []string{noise, agent}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(log, []byte(strings.Join(tc.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := loggedVersion(log, tc.start); got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestPlannedVersions: each end has versions for all planes, in the order of the ends. The clusters take turns.
func TestPlannedVersions(t *testing.T) {
	planned := map[End]map[string]Versions{}
	for _, end := range []End{Oldest, "", Newest} {
		versions, err := PlannedVersions(end, ClusterNames(2))
		if err != nil {
			t.Fatal(err)
		}
		if len(versions) != 3 {
			t.Errorf("%q: versions of %d planes", end, len(versions))
		}
		planned[end] = versions
	}
	oldest, usual, newest := planned[Oldest][hubName], planned[""][hubName], planned[Newest][hubName]
	if oldest.Kubernetes >= usual.Kubernetes || usual.Kubernetes >= newest.Kubernetes || oldest.ArgoCD >= usual.ArgoCD ||
		usual.ArgoCD >= newest.ArgoCD || oldest.OCM >= usual.OCM || usual.OCM != newest.OCM {
		t.Errorf("the ends are not in order: %+v", planned)
	}
	if first, second := planned[""]["cluster1"], planned[""]["cluster2"]; first != usual || second.ArgoCD != oldest.ArgoCD {
		t.Errorf("the clusters do not take turns: %+v", planned[""])
	}
}
