package payload_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/fixture"
)

// TestAutomationForEveryArgoCD: the payload has no field `enabled`. Argo CD 2.14 lacks the field, and
// reads any `automated` as yes.
func TestAutomationForEveryArgoCD(t *testing.T) {
	for name, tc := range map[string]struct{ policy, want string }{
		"off":              {`{"automated":{"enabled":false,"prune":true},"retry":{"limit":0}}`, `{"retry":{"limit":0}}`},
		"on":               {`{"automated":{"enabled":true,"prune":true}}`, `{"automated":{"prune":true}}`},
		"on alone":         {`{"automated":{"enabled":true}}`, `{"automated":{}}`},
		"by default":       {`{"automated":{"prune":true}}`, `{"automated":{"prune":true}}`},
		"null":             {`{"automated":{"enabled":null}}`, `{"automated":{}}`},
		"not automated":    {`{"syncOptions":["a=b"]}`, `{"syncOptions":["a=b"]}`},
		"of another shape": {`{"automated":"yes"}`, `{"automated":"yes"}`},
	} {
		t.Run(name, func(t *testing.T) {
			app := fixture.Application("guestbook").Cluster("cluster1").Spec(`{"destination":{},"syncPolicy":` + tc.policy + `}`)
			var got struct{ SyncPolicy json.RawMessage }
			if err := json.Unmarshal(rendered(t, app).Spec.Raw, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got.SyncPolicy)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
