package managedresources_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

// item is a managed resource, as argocd-server reads the resource.
type item struct {
	Group, Kind, Namespace, Name, TargetState, LiveState, NormalizedLiveState, PredictedLiveState, ResourceVersion, Diff string
	Hook, Modified                                                                                                       bool
}

func copied(t *testing.T, entry string) []item {
	t.Helper()
	out, err := managedresources.Copy(strings.NewReader(entry), false, false)
	if err != nil {
		t.Fatal(err)
	}
	var items []item
	if err := json.Unmarshal(out, &items); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return items
}

func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(data)
}

// TestCopy: all fields for a difference arrive, in every form of the entry. An unknown field and the field diff do not.
func TestCopy(t *testing.T) {
	const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"b"}}`
	entry := `[{"group":"apps","kind":"Deployment","namespace":"b","name":"a","hook":true,"modified":true,"resourceVersion":"7","diff":"x","new":1,` +
		`"targetState":"null","liveState":` + quote(deployment) + `,"normalizedLiveState":` + quote(deployment) + `,"predictedLiveState":"null"}]`
	want := []item{{
		Group: "apps", Kind: "Deployment", Namespace: "b", Name: "a", Hook: true, Modified: true, ResourceVersion: "7",
		TargetState: "null", LiveState: deployment, NormalizedLiveState: deployment, PredictedLiveState: "null",
	}}
	if diff := cmp.Diff(want, copied(t, entry)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	packed, err := managedresources.Copy(strings.NewReader(entry), false, true)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := managedresources.Copy(bytes.NewReader(packed), true, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, copied(t, string(plain))); diff != "" {
		t.Errorf("compressed and back (-want +got):\n%s", diff)
	}
	if got := copied(t, "[]"); len(got) != 0 {
		t.Errorf("an Application without resources has %v", got)
	}
}

func TestRefused(t *testing.T) {
	state := func(manifest string) string {
		return `[{"kind":"ConfigMap","name":"a","liveState":` + quote(manifest) + `}]`
	}
	for title, tc := range map[string]struct {
		entry      string
		compressed bool
		large      bool
	}{
		"nothing":               {"", false, false},
		"no list":               {`{"kind":"ConfigMap"}`, false, false},
		"null":                  {"null", false, false},
		"cut":                   {`[{"kind":"ConfigMap"}`, false, false},
		"not compressed":        {"[]", true, false},
		"a cut compression":     {string(tree.Compress([]byte("[]"))[:12]), true, false},
		"a list as a manifest":  {state(`[]`), false, false},
		"a manifest cut":        {state(`{"kind":`), false, false},
		"an escape in a name":   {state(`{"kind":"ConfigMap","metadata":{"name":"\u001b[2J"}}`), false, false},
		"an escape beside":      {`[{"kind":"ConfigMap","name":"\u001b[2J"}]`, false, false},
		"a long name":           {`[{"kind":"` + strings.Repeat("a", 254) + `"}]`, false, false},
		"too many resources":    {"[" + strings.Repeat(`{},`, managedresources.MaxResources) + "{}]", false, true},
		"too many bytes":        {state(`{"a":"` + strings.Repeat("a", managedresources.MaxBytes) + `"}`), false, true},
		"a bomb":                {string(tree.Compress([]byte("[" + strings.Repeat(" ", managedresources.MaxBytes) + "]"))), true, true},
		"too many keys":         {`[{"kind":"Secret","liveState":` + quote(secretOf(6000)) + `}]`, false, true},
		"a Secret of 10 MiB":    {`[{"kind":"Secret","liveState":` + quote(`{"a":"`+strings.Repeat("a", 10<<20)+`"}`) + `}]`, false, true},
		"a data that is a list": {`[{"kind":"Secret","liveState":` + quote(`[]`) + `}]`, false, false},
	} {
		_, err := managedresources.Copy(strings.NewReader(tc.entry), tc.compressed, true)
		if err == nil || errors.Is(err, managedresources.ErrTooLarge) != tc.large {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// secretOf returns a Secret with many keys.
func secretOf(keys int) string {
	data := map[string]string{}
	for i := range keys {
		data[strings.Repeat("k", 1+i%50)+string(rune('a'+i%26))+quote(string(rune(1000+i)))] = ""
	}
	out, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(out)
}

// TestSecrets: no value of a Secret remains, and a difference stays visible.
func TestSecrets(t *testing.T) {
	last := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"password":"secret-0"}}`
	target := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"password":"secret-1","same":"secret-2"}}`
	live := `{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":` + quote(last) +
		`},"name":"a"},"data":{"password":"secret-3","same":"secret-2","count":12345678901234567890,"empty":null},"type":"Opaque"}`
	for title, kind := range map[string]string{"named": "Secret", "named falsely": "ConfigMap"} {
		entry := `[{"kind":"` + kind + `","name":"a","targetState":` + quote(target) + `,"liveState":` + quote(live) + `}]`
		got := copied(t, entry)[0]
		for _, state := range []string{got.TargetState, got.LiveState} {
			if strings.Contains(state, "secret-") || strings.Contains(state, "123456") {
				t.Errorf("%s: %s", title, state)
			}
		}
		var shown struct {
			Metadata   struct{ Annotations map[string]string }
			Data       map[string]any
			StringData map[string]any
			Type       string
		}
		if err := json.Unmarshal([]byte(got.LiveState), &shown); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"password": "++++++++++++", "same": "++++++++", "count": "++++++++", "empty": nil}
		if diff := cmp.Diff(want, shown.Data); diff != "" || shown.Type != "Opaque" {
			t.Errorf("%s: live, type %s (-want +got):\n%s", title, shown.Type, diff)
		}
		for _, text := range shown.Metadata.Annotations {
			if !strings.Contains(text, `"password":"++++++++++++++++"`) {
				t.Errorf("%s: the last apply is %s", title, text)
			}
		}
		if err := json.Unmarshal([]byte(got.TargetState), &shown); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{"password": "++++++++", "same": "++++++++"}, shown.StringData); diff != "" {
			t.Errorf("%s: target (-want +got):\n%s", title, diff)
		}
	}
}

// TestMaskOfArgoCD: a mask of Argo CD stays, and an unreadable last apply goes.
func TestMaskOfArgoCD(t *testing.T) {
	target := `{"apiVersion":"v1","data":{"a":"++++++++"},"kind":"Secret"}`
	live := `{"apiVersion":"v1","data":{"a":"++++++++++++"},"kind":"Secret"}`
	got := copied(t, `[{"kind":"Secret","targetState":`+quote(target)+`,"liveState":`+quote(live)+`}]`)[0]
	if got.TargetState != target || got.LiveState != live {
		t.Errorf("got %s and %s", got.TargetState, got.LiveState)
	}
	long := `{"kind":"Secret","data":{"a":"` + strings.Repeat("+", 1000) + `","b":"x"},"metadata":{"annotations":` +
		`{"kubectl.kubernetes.io/last-applied-configuration":"secret {"}}}`
	got = copied(t, `[{"kind":"Secret","liveState":`+quote(long)+`}]`)[0]
	want := `{"data":{"a":"++++++++","b":"++++++++"},"kind":"Secret","metadata":{"annotations":` +
		`{"kubectl.kubernetes.io/last-applied-configuration":"++++++++"}}}`
	if got.LiveState != want {
		t.Errorf("got %s", got.LiveState)
	}
}

// FuzzCopy: a copy is an entry that Copy accepts without a change, and has no value of a Secret.
func FuzzCopy(f *testing.F) {
	f.Add([]byte(`[{"kind":"Secret","liveState":"{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}","targetState":"null"}]`))
	f.Add([]byte(`[{"liveState":"{\"kind\":\"Secret\",\"stringData\":{\"a\":7},\"data\":[]}"},{}]`))
	f.Add([]byte(`[{"kind":"Secret","liveState":"{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}}}"}]`))
	f.Fuzz(func(t *testing.T, entry []byte) {
		out, err := managedresources.Copy(bytes.NewReader(entry), false, false)
		if err != nil {
			return
		}
		again, err := managedresources.Copy(bytes.NewReader(out), false, false)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%v:\n%s\n%s", err, out, again)
		}
		var items []item
		if err := json.Unmarshal(out, &items); err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			expectMasked(t, it)
		}
	})
}

// expectMasked fails for a value of a Secret.
func expectMasked(t *testing.T, it item) {
	t.Helper()
	for _, state := range []string{it.TargetState, it.LiveState, it.NormalizedLiveState, it.PredictedLiveState} {
		var manifest map[string]any
		if state == "" || json.Unmarshal([]byte(state), &manifest) != nil {
			continue
		}
		kind, _ := manifest["kind"].(string)
		version, _ := manifest["apiVersion"].(string)
		if kind != "Secret" || strings.Contains(version, "/") {
			continue
		}
		for _, field := range []string{"data", "stringData"} {
			values, _ := manifest[field].(map[string]any)
			for key, value := range values {
				if text, ok := value.(string); value != nil && (!ok || strings.Trim(text, "+") != "" || len(text) < 8) {
					t.Fatalf("%s of %s is %v", key, state, value)
				}
			}
		}
	}
}
