package work_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/work"
)

const agent = "https://agent"

// TestSourceAddress: the work of an Application with sources through the hub names no address of a Git server.
func TestSourceAddress(t *testing.T) {
	app := fixture.Application("guestbook").Sources(2).Obj()
	app.SourceAddress = agent
	w, err := work.Render(app, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	addresses := source.Addresses(app.Spec.Raw)
	if got, want := w.Annotations[apis.AnnotationSources], source.WriteNames(addresses); got != want || len(source.ReadNames(got)) != 2 {
		t.Errorf("the work names the repositories %q, not %q", got, want)
	}
	raw := string(w.Spec.Workload.Manifests[0].Raw)
	for _, address := range addresses {
		if strings.Contains(raw, address) || !strings.Contains(raw, source.At(agent, address)) {
			t.Errorf("the Application on the cluster names %s: %s", address, raw)
		}
	}
	direct := fixture.Application("guestbook").Sources(2).Obj()
	back, err := work.Render(direct, work.Requests{})
	if err != nil {
		t.Fatal(err)
	}
	updated, changed := work.Update(w, back)
	if _, there := updated.Annotations[apis.AnnotationSources]; !changed || there {
		t.Errorf("an Application with direct sources keeps the names of repositories: %v", updated.Annotations)
	}
}

// TestSourceOfOperation: a rollback has its own source, which comes through the hub as well.
func TestSourceOfOperation(t *testing.T) {
	const repo = "https://git.example.com/apps.git"
	app := fixture.Application("guestbook").Obj()
	for address, want := range map[string]string{"": repo, agent: source.At(agent, repo)} {
		app.SourceAddress = address
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			t.Fatal(err)
		}
		operation := `{"sync":{"revision":"1","source":{"repoURL":"` + repo + `","path":"p"},"prune":true}}`
		if err := work.Carry(w, app, work.Request{Operation: []byte(operation), Version: "5"}); err != nil {
			t.Fatal(err)
		}
		raw := string(w.Spec.Workload.Manifests[0].Raw)
		for _, part := range []string{`"repoURL":"` + want + `"`, `"revision":"1"`, `"prune":true`, `"path":"p"`} {
			if !strings.Contains(raw, part) {
				t.Errorf("address %q: no %s in %s", address, part, raw)
			}
		}
	}
}
