package payload_test

import (
	"testing"

	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
)

// TestNormalized: the payload has the normal form of Argo CD already. Otherwise Argo CD and each apply of the work
// would change the Application in turn.
func TestNormalized(t *testing.T) {
	const head, there = `"destination":{"server":"https://kubernetes.default.svc"},"project":"default","source":{`,
		`{"destination":{"server":"https://kubernetes.default.svc"},"project":"default","source":{`
	for title, tc := range map[string][2]string{
		"empty sections":      {`"directory":{},"helm":{},"kustomize":{},"path":"p"}`, `"path":"p"}`},
		"zero values":         {`"directory":{"jsonnet":{"extVars":[]},"recurse":false},"helm":{"values":"","valueFiles":[]},"path":"p"}`, `"path":"p"}`},
		"what does not count": {`"kustomize":{"forceCommonLabels":true,"images":[]},"path":"p"}`, `"path":"p"}`},
		"values":              {`"helm":{"valuesObject":{}},"path":"p"}`, `"helm":{"valuesObject":{}},"path":"p"}`},
		"a filter":            {`"directory":{"include":"x"},"path":"p"}`, `"directory":{"include":"x"},"path":"p"}`},
		"an option":           {`"kustomize":{"images":["a=b"],"namePrefix":""},"path":"p"}`, `"kustomize":{"images":["a=b"],"namePrefix":""},"path":"p"}`},
		"an unknown option":   {`"kustomize":{"newer":{"a":1}},"path":"p"}`, `"kustomize":{"newer":{"a":1}},"path":"p"}`},
		"several sources": {`"path":"p"},"sources":[{"kustomize":{},"path":"p"},{"path":"q","helm":{"releaseName":"r"}}]`,
			`"path":"p"},"sources":[{"path":"p"},{"path":"q","helm":{"releaseName":"r"}}]`},
		"an empty policy":     {`"path":"p"},"syncPolicy":{"syncOptions":[]}`, `"path":"p"}`},
		"a policy of nothing": {`"path":"p"},"syncPolicy":{"automated":{"enabled":false}}`, `"path":"p"}`},
		"a policy":            {`"path":"p"},"syncPolicy":{"automated":{}}`, `"path":"p"},"syncPolicy":{"automated":{}}`},
		"a retry":             {`"path":"p"},"syncPolicy":{"retry":{}}`, `"path":"p"},"syncPolicy":{"retry":{}}`},
	} {
		app := fixture.Application("guestbook").Obj()
		app.Spec.Raw = []byte(`{` + head + tc[0] + `}`)
		if got := string(refreshed(t, app, relay.Refresh{}).Spec.Raw); got != there+tc[1]+`}` {
			t.Errorf("%s: got\n%s, want\n%s", title, got, there+tc[1]+`}`)
		}
	}
	app := fixture.Application("guestbook").Obj()
	app.Spec.Raw = []byte(`{"destination":{},"project":""}`)
	const want = `{"destination":{"server":"https://kubernetes.default.svc"},"project":"default"}`
	if got := string(refreshed(t, app, relay.Refresh{}).Spec.Raw); got != want {
		t.Errorf("without a project: %s", got)
	}
}
