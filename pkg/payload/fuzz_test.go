package payload_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/relay"
)

// FuzzRender: the spec on the cluster equals the hub's spec, except for the destination and the sync policy.
func FuzzRender(f *testing.F) {
	f.Add(`{"project":"p","source":{"repoURL":"https://x"},"destination":{"name":"c","namespace":"a"}}`)
	f.Add(`{"destination":null,"syncPolicy":{"automated":{"enabled":false}},"n":9007199254740993}`)
	f.Add(`{"syncPolicy":{"automated":{"enabled":true,"prune":true}},"a":"<&>\u2028"}`)
	f.Add(`{"destination":{"server":"x","server":"y"},"sourceHydrator":{}}`)
	f.Fuzz(func(t *testing.T, spec string) {
		raw, err := payload.Render(fixture.Application("guestbook").Spec(spec).Obj(), workName, relay.Refresh{})
		if err != nil {
			return // the spec is not a JSON object
		}
		held := payload.Read(raw)
		if held == nil {
			t.Fatalf("cannot be read: %s", raw)
		}
		if name, server := held.Destination(); name != "" || server != apis.InClusterServer {
			t.Errorf("%s goes to %q at %q", spec, name, server)
		}
		was, is := fieldsOf(t, []byte(spec)), fieldsOf(t, held.Spec.Raw)
		for _, key := range []string{"destination", "syncPolicy"} {
			delete(was, key)
			delete(is, key)
		}
		if string(was["project"]) == `""` {
			was["project"] = json.RawMessage(`"default"`) // Argo CD's reading of an empty project
		}
		for key, value := range was {
			var a, b bytes.Buffer
			if json.Compact(&a, value) != nil || json.Compact(&b, is[key]) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s is %s there, and %s here", key, is[key], value)
			}
			delete(is, key)
		}
		if len(is) > 0 {
			t.Errorf("there is more there: %v", is)
		}
	})
}

func fieldsOf(t *testing.T, raw []byte) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
