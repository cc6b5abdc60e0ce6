package payload_test

import (
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/payload"
)

func TestRespecified(t *testing.T) {
	const before = `{"destination":{"namespace":"a"},"project":"default","source":{"path":"one","repoURL":"r"},"syncPolicy":{"retry":{"limit":0}}}`
	for title, tc := range map[string]struct {
		after string
		want  bool
	}{
		"nothing":          {before, false},
		"the same, spaced": {strings.ReplaceAll(before, ":", ": "), false},
		"project":          {`{"destination":{"namespace":"a"},"project":"other","source":{"path":"one","repoURL":"r"}}`, false},
		"policy":           {`{"destination":{"namespace":"a"},"source":{"path":"one","repoURL":"r"},"syncPolicy":{"retry":{"limit":5}}}`, false},
		"order of keys":    {`{"source":{"repoURL":"r","path":"one"},"destination":{"namespace":"a"}}`, false},
		"path":             {`{"destination":{"namespace":"a"},"source":{"path":"two","repoURL":"r"}}`, true},
		"namespace":        {`{"destination":{"namespace":"b"},"source":{"path":"one","repoURL":"r"}}`, true},
		"name for server":  {`{"destination":{"name":"in-cluster","namespace":"a"},"source":{"path":"one","repoURL":"r"}}`, false},
		"several sources":  {`{"destination":{"namespace":"a"},"sources":[{"path":"one","repoURL":"r"}]}`, true},
		"ignored":          {`{"destination":{"namespace":"a"},"ignoreDifferences":[{"kind":"Pod"}],"source":{"path":"one","repoURL":"r"}}`, true},
		"hydrated":         {`{"destination":{"namespace":"a"},"sourceHydrator":{}}`, true},
		"path, automated":  {`{"destination":{"namespace":"a"},"source":{"path":"two","repoURL":"r"},"syncPolicy":{"automated":{}}}`, false},
		"path, turned off": {
			`{"destination":{"namespace":"a"},"source":{"path":"two","repoURL":"r"},"syncPolicy":{"automated":{"enabled":false}}}`, true},
		"what is not a spec": {`[]`, false},
	} {
		t.Run(title, func(t *testing.T) {
			there := rendered(t, fixture.Application("guestbook").Cluster("cluster1").Spec(before))
			app := fixture.Application("guestbook").Cluster("cluster1").Spec(tc.after).Obj()
			if got := payload.Respecified(there, app); got != tc.want {
				t.Errorf("got %v", got)
			}
			if same := strings.HasPrefix(title, "the same") || title == "nothing"; payload.Behind(there, app) == same && title != "what is not a spec" {
				t.Errorf("behind: %v", !same)
			}
		})
	}
}
