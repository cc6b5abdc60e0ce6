package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/observed"
	"github.com/towline-io/towline/pkg/report"
	"github.com/towline-io/towline/pkg/work"
)

// applicationsAtScale is the number of Applications in TestRequests: more than a page, or a number to measure.
var applicationsAtScale = flag.Int("applications", pageSize+100, "the Applications of TestRequests")

const scaled = "scaled"

// scaledSets is the number of ApplicationSets with the Applications.
const scaledSets = 5

// fill creates the Applications, each with a ManifestWork, and the reports of their ApplicationSets.
func fill(t *testing.T, n int) {
	t.Helper()
	var todo sync.WaitGroup
	next, sets, mu := atomic.Int64{}, [scaledSets]*report.Set{}, sync.Mutex{}
	for i := range sets {
		sets[i] = report.NewSet(nil)
	}
	one := func(i int) error {
		set := fmt.Sprintf("set-%d", i%scaledSets)
		name := fmt.Sprintf("%s-%05d", set, i)
		app := fixture.Application(name).UID("").Namespace(scaled).Cluster("scaled-c1").ApplicationSet(set).Status(statusOf("Healthy")).Obj()
		if err := admin.Create(t.Context(), app); err != nil {
			return err
		}
		w, err := work.Render(app, work.Requests{})
		if err != nil {
			return err
		}
		mu.Lock()
		sets[i%scaledSets].Put(client.ObjectKeyFromObject(app), report.Observe(app, &observed.Facts{Status: app.Status}, "", nil))
		mu.Unlock()
		return admin.Create(t.Context(), w)
	}
	for range 16 {
		todo.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := one(int(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	todo.Wait()
	for i, s := range sets {
		r := s.Build(types.NamespacedName{Namespace: scaled, Name: fmt.Sprintf("set-%d", i)}, "", report.MaxBytes)
		report.Publish(r, nil, 0, metav1.NewTime(ago))
		set := newApplicationSet()
		set.SetNamespace(scaled)
		set.SetName(r.Name)
		set.Object["spec"] = map[string]any{}
		create(t, r, &set.Unstructured)
	}
}

// counted counts requests, and logs them.
type counted struct {
	t    *testing.T
	n    *atomic.Int64
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	c.t.Log(r.Method, r.URL.RequestURI())
	return c.next.RoundTrip(r)
}

// TestRequests checks that the number of requests does not grow with the fleet. Only a list of Applications needs a
// request for each page.
func TestRequests(t *testing.T) {
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: scaled}})
	accepted(t, "scaled-c1")
	given(t, scaled)
	project(t, scaled, argocd.DefaultProject)
	n := *applicationsAtScale
	t.Cleanup(func() { // the context of the test has ended by then
		ctx := context.Background()
		for _, all := range []struct {
			obj       client.Object
			namespace string
		}{{&argocd.Application{}, scaled}, {&workv1.ManifestWork{}, "scaled-c1"}} {
			if err := admin.DeleteAllOf(ctx, all.obj, client.InNamespace(all.namespace)); err != nil {
				t.Error(err)
			}
		}
	})
	fill(t, n)
	pages := int64((n + pageSize - 1) / pageSize)
	for _, tc := range []struct {
		command func(*options) *cobra.Command
		args    []string
		most    int64
	}{
		{newWhyCommand, []string{"set-1-00001"}, 17},
		{newWhyCommand, []string{"set-1", "--cluster", "scaled-c1"}, 17},
		{newStatusCommand, []string{"set-1"}, 2},
		{newMatrixCommand, nil, 2},
		{newGetCommand, []string{"apps"}, pages},
		{newStatsCommand, nil, pages},
	} {
		var out bytes.Buffer
		var requests atomic.Int64
		o := newOptions(genericiooptions.IOStreams{Out: &out, ErrOut: &out})
		file := kubeconfigOf(t)
		namespace := scaled
		o.config.KubeConfig, o.config.Namespace, o.towline.ArgoCDNamespace = &file, &namespace, scaled
		o.config.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{t, &requests, next} })
			return c
		})
		cmd := tc.command(o)
		cmd.SetArgs(append([]string{}, tc.args...)) // for nil, cobra would take the arguments of the test binary
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		began := time.Now()
		err := cmd.ExecuteContext(t.Context())
		t.Logf("%d Applications: %s %v: %d requests, %s, %d bytes, %v", n, cmd.Name(), tc.args, requests.Load(), time.Since(began), out.Len(), err)
		if got := requests.Load(); got > tc.most || got == 0 || out.Len() < 100 {
			t.Errorf("%s: %d requests, and not %d at most, for\n%.500s", cmd.Name(), got, tc.most, out.String())
		}
	}
}
