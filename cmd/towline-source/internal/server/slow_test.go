package server

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/pace"
	"github.com/towline-io/towline/pkg/source"
	"github.com/towline-io/towline/pkg/tree"
)

// slowest is a pace that slow clients do not reach.
var slowest = pace.Pace{Patience: time.Second, Rate: 1 << 20}

// dripping is a body of a text, and then a byte each 50 ms.
func dripping(t *testing.T, text string) io.Reader {
	t.Helper()
	out, in := io.Pipe()
	go func() {
		_, err := io.WriteString(in, text)
		for err == nil {
			select {
			case <-t.Context().Done():
				err = in.Close()
			case <-time.After(50 * time.Millisecond):
				_, err = io.WriteString(in, "0")
			}
		}
	}()
	return out
}

// slow is a client that does not read, with a small window for answers.
func (w *world) slow() *http.Client {
	w.Helper()
	trust, err := rest.TLSConfigFor(w.config)
	if err != nil {
		w.Fatal(err)
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	transport := &http.Transport{TLSClientConfig: trust, Protocols: protocols, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}}
	w.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (w *world) request(method, path string, body io.Reader) *http.Request {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.config.Host+path, body)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.config.BearerToken)
	return r
}

// TestSlowPacks: a client that hardly reads or sends loses the place of the cluster, and the place of all clusters.
func TestSlowPacks(t *testing.T) {
	w := serveAt(t, slowest)
	w.mirrors.MaxBytes, w.mirrors.MaxTotal = 1<<30, 1<<30
	content := make([]byte, 8<<20)
	_, _ = rand.Read(content)
	commit := w.git.Commit("large", string(content))
	name := source.Name("default", w.git.URL)
	want := fmt.Sprintf("0032want %s\n", commit)
	for title, body := range map[string]io.Reader{
		"the client does not read": strings.NewReader(want + "00000009done\n"),
		"the client drips":         dripping(t, strings.Repeat(want, maxHead/len(want)+1)+"fff0"), // a long line begins
	} {
		w.limits.byCluster = 1
		ended := make(chan string, 1)
		go func() {
			answer, err := w.slow().Do(w.request(http.MethodPost, source.Path(cluster, name)+"/git-upload-pack", body))
			if err != nil {
				ended <- err.Error()
				return
			}
			ended <- answer.Status
			<-t.Context().Done()
			answer.Body.Close()
		}()
		for w.limits.all.TryAcquire(10) { // until the client has its place
			w.limits.all.Release(10)
		}
		began := time.Now()
		if out, err := w.client(cluster, name, "clone", "--quiet", "URL", t.TempDir()); err != nil {
			t.Errorf("%s: the next request fails: %v\n%s", title, err, out)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: the next request waited %s", title, took)
		}
		t.Logf("%s: %s, and the next request ended after %s", title, <-ended, time.Since(began))
	}
	if !w.limits.all.TryAcquire(10) {
		t.Error("places are left over")
	}
}

// TestEndedGrant: an open answer ends soon after the grant, and the client does not take the part for the whole.
func TestEndedGrant(t *testing.T) {
	w := serve(t)
	w.handler.recheck = 50 * time.Millisecond
	w.mirrors.MaxBytes, w.mirrors.MaxTotal = 1<<30, 1<<30
	content := make([]byte, 8<<20)
	_, _ = rand.Read(content)
	commit := w.git.Commit("large", string(content))
	path := source.Path(cluster, source.Name("default", w.git.URL))
	body := strings.NewReader(fmt.Sprintf("0032want %s\n00000009done\n", commit))
	answer, err := w.slow().Do(w.request(http.MethodPost, path+"/git-upload-pack", body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	w.hub.ended.Store(true)
	for !w.limits.all.TryAcquire(10) { // until the end of the test
		runtime.Gosched()
	}
	if read, err := io.Copy(io.Discard, answer.Body); err == nil || read > 4<<20 {
		t.Errorf("the client reads %d bytes: %v", read, err)
	}
	if code, text := w.get(path + "/info/refs?service=git-upload-pack"); code != http.StatusNotFound || strings.TrimSpace(text) != absent {
		t.Errorf("the next request gets %d %s", code, text)
	}
}

// free returns whether a cluster has no request with managed resources.
func (w *world) free(cluster string) bool {
	w.limits.busy.mu.Lock()
	defer w.limits.busy.mu.Unlock()
	return !w.limits.busy.clusters[cluster]
}

// TestSlowManagedResources: a client that hardly sends takes no place for writes, and loses the place of the cluster.
func TestSlowManagedResources(t *testing.T) {
	w := serveAt(t, slowest)
	path := managedresources.Path(cluster, delivered)
	ended := make(chan int, 1)
	go func() {
		answer, err := w.slow().Do(w.request(http.MethodPut, path, dripping(t, "")))
		if err != nil {
			t.Error(err)
			ended <- 0
			return
		}
		answer.Body.Close()
		ended <- answer.StatusCode
	}()
	for w.free(cluster) && len(ended) == 0 { // until the slow client has the place of the cluster
		runtime.Gosched()
	}
	body := tree.Compress([]byte(`[{"kind":"ConfigMap","name":"a"}]`))
	refused := 0
	for len(ended) == 0 {
		if code, _ := w.tell(http.MethodPut, path, "", body); code == http.StatusTooManyRequests {
			if refused++; !w.limits.writes.TryAcquire(maxWrites) {
				t.Error("the client has a place for writes")
			} else {
				w.limits.writes.Release(maxWrites)
			}
		}
	}
	if code := <-ended; refused == 0 || code != http.StatusUnprocessableEntity {
		t.Errorf("the client gets %d, and %d other requests are refused", code, refused)
	}
	if code, text := w.tell(http.MethodPut, path, "", body); code != http.StatusNoContent {
		t.Errorf("the next request gets %d %s", code, text)
	}
}
