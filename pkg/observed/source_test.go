package observed

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// TestInWordsOf: users of the hub see the addresses of their repositories in each message.
func TestInWordsOf(t *testing.T) {
	const repo = "https://git.example.com/apps.git"
	agent := func(address string) string { return source.At("https://agent.example.com", "team", address) }
	statusOf := func(address string) *Facts {
		text := `{"health":{"status":"Degraded","message":"X"},"conditions":[{"type":"ComparisonError","message":"no X/: 404"}],
			"resources":[{"kind":"A","name":"a","health":{"status":"Degraded","message":"X"}},{"kind":"B","name":"b"}],
			"operationState":{"operation":{},"phase":"Failed","startedAt":"2026-01-02T03:04:05Z","message":"X",
			"syncResult":{"revision":"","resources":[{"group":"","version":"v1","kind":"A","namespace":"","name":"a","message":"X"}]}}}`
		f := &Facts{Complete: true}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "X", address)), &f.Status); err != nil {
			t.Fatal(err)
		}
		return f
	}
	app := &argocd.Application{}
	app.Spec.Raw = []byte(`{"source":{"repoURL":"` + repo + `"}}`)
	for address, want := range map[string]string{
		agent(repo): repo, repo: repo, "words": "words",
		agent("https://git.example.com/others"): agent("https://git.example.com/others"), // a repository of another Application
	} {
		before := statusOf(address)
		if diff := cmp.Diff(statusOf(want), before.InWordsOf(app)); diff != "" {
			t.Errorf("%s: %s", address, diff)
		}
		if diff := cmp.Diff(statusOf(address), before); diff != "" {
			t.Errorf("%s: the facts of the source have changed: %s", address, diff)
		}
	}
	if (*Facts)(nil).InWordsOf(app) != nil {
		t.Error("there are facts without a source")
	}
}
