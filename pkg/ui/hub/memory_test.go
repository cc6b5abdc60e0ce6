package hub

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/ui"
)

// many has one Person for each identity named in requests. Each Person has read the same fleet.
type many []*Person

// For implements ui.Source.
func (m many) For(r *http.Request) (ui.Hub, error) {
	var i int
	_, err := fmt.Sscan(r.Header.Get("Reader"), &i)
	return m[i], err
}

// read returns a Person with a fleet of the given number of Applications, five on each cluster, read page by page like
// a list.
func read(t *testing.T, applications int) *Person {
	t.Helper()
	p, err := newPerson(t.Context(), &rest.Config{Host: "127.0.0.1:1"}, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	a := &feed[unique.Handle[application]]{keep: keepApplication, changed: p.bump, store: store[unique.Handle[application]]{of: ofApplication}}
	c := &feed[unique.Handle[cluster]]{keep: keepCluster, changed: p.bump, store: store[unique.Handle[cluster]]{of: ofCluster}}
	p.applications[""], p.clusters = a, c
	apps, clusters := store[unique.Handle[application]]{of: ofApplication}, store[unique.Handle[cluster]]{of: ofCluster}
	for from := 0; from < applications; from += pageSize {
		list, managed := &argocd.ApplicationList{}, &clusterv1.ManagedClusterList{}
		for i := from; i < min(from+pageSize, applications); i++ {
			list.Items = append(list.Items, *anApplication("crowd", fmt.Sprintf("set-%d", i%5), fmt.Sprintf("cluster-%04d", i/5)))
			if i%5 == 0 {
				managed.Items = append(managed.Items, clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cluster-%04d", i/5),
					Labels: map[string]string{"region": []string{"eu", "us", "ap"}[i/5%3]}}})
			}
		}
		last := from+pageSize >= applications
		if err := a.put(&apps, list, last); err != nil {
			t.Fatal(err)
		}
		if err := c.put(&clusters, managed, last); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestMemory checks the memory of 20 identities with 10,000 Applications, each with an open page. The sum must fit into
// the memory of the Deployment.
func TestMemory(t *testing.T) {
	const applications, most = 10_000, 60 << 20
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // the second collection frees weak values
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var all many
	for range users {
		all = append(all, read(t, applications))
	}
	readOnly := heap()
	server := httptest.NewServer(ui.Handler(all))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range users {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/?group=region", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Reader", fmt.Sprint(i))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if !event(bufio.NewScanner(resp.Body), "") {
			t.Fatal("the stream has ended")
		}
	}
	after := heap()
	t.Logf("%d identities keep %d KiB, and with a page each %d KiB", users, (readOnly-before)>>10, (after-before)>>10)
	if after-before > most {
		t.Errorf("that is more than %d KiB", most>>10)
	}
	runtime.KeepAlive(all)
}
