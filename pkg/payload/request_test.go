package payload_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/source"
)

// TestSourceOfOperation: a rollback has its own source, which comes through the hub as well.
func TestSourceOfOperation(t *testing.T) {
	const repo, agent = "https://git.example.com/apps.git", "https://agent"
	app := fixture.Application("guestbook").Obj()
	for address, want := range map[string]string{"": repo, agent: source.At(agent, argocd.DefaultProject, repo)} {
		app.SourceAddress = address
		operation := `{"sync":{"revision":"1","source":{"repoURL":"` + repo + `","path":"p"},"prune":true}}`
		raw, err := payload.Request(app, []byte(operation), "5")
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"repoURL":"` + want + `"`, `"revision":"1"`, `"prune":true`, `"path":"p"`, `"resourceVersion":"5"`} {
			if !strings.Contains(string(raw), part) {
				t.Errorf("address %q: no %s in %s", address, part, raw)
			}
		}
	}
}
