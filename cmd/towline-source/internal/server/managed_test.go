package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

const delivered = "a-00000"

// fakeDeliveries delivers an Application to cluster.
type fakeDeliveries struct{}

func (fakeDeliveries) Application(_ context.Context, of, work string) (types.NamespacedName, bool, error) {
	return types.NamespacedName{Namespace: "argocd", Name: "a"}, of == cluster && work == delivered, nil
}

// tell sends a request about managed resources, and returns the status code and the text.
func (w *world) tell(method, path, digest string, body []byte) (int, string) {
	w.Helper()
	client, err := rest.HTTPClientFor(w.config)
	if err != nil {
		w.Fatal(err)
	}
	target := w.config.Host + path
	if digest != "" {
		target += "?" + url.Values{managedresources.Digest: {digest}}.Encode()
	}
	request, err := http.NewRequestWithContext(w.Context(), method, target, bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

// TestManagedResources: each request gets the code that the agent understands, and the API has no other verbs.
func TestManagedResources(t *testing.T) {
	w := serve(t)
	own := managedresources.Path(cluster, delivered)
	body := tree.Compress([]byte(`[{"kind":"ConfigMap","name":"a"}]`))
	const digest = "9c"
	for _, tc := range []struct {
		title, method, path, digest string
		body                        []byte
		code                        int
		text                        string
	}{
		{"an unknown content", http.MethodPut, own, digest, nil, http.StatusConflict, "digest"},
		{"the content", http.MethodPut, own, "", body, http.StatusNoContent, ""},
		{"no content", http.MethodPut, own, "", nil, http.StatusUnprocessableEntity, "no list"},
		{"too much", http.MethodPut, own, "", make([]byte, managedresources.MaxCompressed+1), http.StatusRequestEntityTooLarge, "limit"},
		{"another work", http.MethodPut, managedresources.Path(cluster, "b-00000"), "", body, http.StatusNotFound, managedresources.Absent},
		{"another cluster", http.MethodPut, managedresources.Path("cluster2", delivered), "", body, http.StatusNotFound, managedresources.Absent},
		{"a read", http.MethodGet, own, "", nil, http.StatusOK, `"application":"argocd/a"`},
		{"a read of another work", http.MethodGet, managedresources.Path(cluster, "b-00000"), "", nil, http.StatusNotFound, `"kind":"managedresources"`},
		{"a read of another cluster", http.MethodGet, managedresources.Path("cluster2", delivered), "", nil, http.StatusNotFound, "not found"},
		{"a list", http.MethodGet, managedresources.Path(cluster, ""), "", nil, http.StatusNotFound, "could not find"},
		{"an end", http.MethodDelete, own, "", nil, http.StatusNoContent, ""},
	} {
		if code, text := w.tell(tc.method, tc.path, tc.digest, tc.body); code != tc.code || !strings.Contains(text, tc.text) {
			t.Errorf("%s: %d %s", tc.title, code, text)
		}
		if exists := len(w.redis.Keys()) > 0; tc.title == "the content" && !exists || tc.title == "an end" && exists {
			t.Errorf("%s: Redis has %v", tc.title, w.redis.Keys())
		}
	}
	w.redis.SetError("LOADING")
	if code, text := w.tell(http.MethodPut, own, "", body); code != http.StatusServiceUnavailable || strings.Contains(text, "LOADING") {
		t.Errorf("without Redis: %d %s", code, text)
	}
}

// TestStateOfManagedResources: users read the state and never the content. Only the reasons of an agent count.
func TestStateOfManagedResources(t *testing.T) {
	w := serve(t)
	own := managedresources.Path(cluster, delivered)
	storage := &managedStorage{}
	read := func(title string, reason managedresources.Reason) {
		t.Helper()
		code, text := w.get(own)
		var got ManagedResources
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK || got.Status.Reason != reason {
			t.Errorf("%s: %d %s: %v", title, code, text, err)
		}
		table, err := storage.ConvertToTable(t.Context(), &got, nil)
		if err != nil || len(table.Rows) != 1 || len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
			t.Errorf("%s: the table is %+v: %v", title, table, err)
		}
		if strings.Contains(text, "ConfigMap") {
			t.Errorf("%s: the state has content: %s", title, text)
		}
	}
	end := func(because string) {
		t.Helper()
		path := own + "?" + url.Values{managedresources.Because: {because}}.Encode()
		if code, text := w.tell(http.MethodDelete, path, "", nil); code != http.StatusNoContent {
			t.Errorf("because %s: %d %s", because, code, text)
		}
	}
	read("nothing", managedresources.ReasonNotSent)
	w.tell(http.MethodPut, own, "", tree.Compress([]byte(`[{"kind":"ConfigMap","name":"a"}]`)))
	read("the content", "")
	end("TooLarge")
	read("an end with a reason", managedresources.ReasonTooLarge)
	end("Closed")
	read("an end with the reason of a hub", managedresources.ReasonNotSent)
	w.redis.SetError("LOADING")
	read("without Redis", managedresources.ReasonRedisUnavailable)
	if _, err := storage.ConvertToTable(t.Context(), &Repository{}, nil); err == nil {
		t.Error("a table for another kind")
	}
}

// TestManagedResourcesAtOnce: a cluster has a single request with a body at a time.
func TestManagedResourcesAtOnce(t *testing.T) {
	var b busy
	done, ok := b.begin(cluster)
	if !ok {
		t.Fatal("no place")
	}
	if _, ok := b.begin(cluster); ok {
		t.Error("a second place for the cluster")
	}
	if _, ok := b.begin("cluster2"); !ok {
		t.Error("no place for another cluster")
	}
	done()
	if _, ok := b.begin(cluster); !ok {
		t.Error("no place after the end")
	}
}
