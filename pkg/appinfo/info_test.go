package appinfo_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/appinfo"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
)

// told is an Application with its labels of the metric. The contract test compares the labels with Argo CD's own
// labels.
type told struct {
	Application *argocd.Application
	Labels      map[string]string
}

const inCluster = `"destination":{"server":"https://kubernetes.default.svc","namespace":"guestbook"}`

func TestGolden(t *testing.T) {
	var all []told
	for _, app := range []*fixture.ApplicationBuilder{
		fixture.Application("plain"),
		fixture.Application("healthy").Health("Healthy").Status(argocd.Status{
			Health: argocd.Health{Status: "Healthy"}, Sync: &argocd.Sync{Status: "OutOfSync"},
		}),
		fixture.Application("automated").Spec(`{"project":"team","source":{"repoURL":" git@GitHub.com:Org/Repo.git "},` + inCluster + `,
			"syncPolicy":{"automated":{"prune":true}}}`),
		fixture.Application("switched-off").Spec(`{"source":{"repoURL":"https://Example.com/Repo.git"},` + inCluster + `,
			"syncPolicy":{"automated":{"enabled":false}}}`),
		fixture.Application("several").Sources(2),
		fixture.Application("hydrated").Spec(`{"sourceHydrator":{"drySource":{"repoURL":"ssh://git@example.com:2222/dry"},
			"syncSource":{"targetBranch":"b","path":"p"}},` + inCluster + `}`),
		fixture.Application("no-address").Spec(`{"source":{"repoURL":"https://%zz"},` + inCluster + `}`),
		fixture.Application("syncing").Operation(`{"sync":{"revision":"main"}}`),
		fixture.Application("no-sync").Operation(`{"initiatedBy":{"username":"x"}}`),
		fixture.Application("deleted").Finalizers("f/f").Deleted(time.Unix(1, 0)),
	} {
		a := app.Obj()
		labels := map[string]string{}
		for i, value := range appinfo.Values(a) {
			labels[appinfo.Labels[i]] = value
		}
		all = append(all, told{a, labels})
	}
	got, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "info.golden.json", append(got, '\n'))
}

// TestASpecThatCannotBeRead checks an unreadable spec: the Application loses its labels, but the metric still works.
func TestASpecThatCannotBeRead(t *testing.T) {
	got := appinfo.Values(fixture.Application("odd").Spec(`{"source":"?","project":"team"}`).Obj())
	if len(got) != len(appinfo.Labels) || got[1] != "odd" || got[2] != "default" || got[4] != "" {
		t.Errorf("got %q", got)
	}
}
