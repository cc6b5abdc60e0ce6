package status

import (
	"context"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/relay"
)

// remembering reads a work with the given identity of a request; empty for no request.
type remembering struct {
	client.Client
	id string
}

func (r remembering) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	w := obj.(*workv1.ManifestWork)
	if r.id != "" {
		w.Annotations = map[string]string{apis.AnnotationRequestSent: "sent " + r.id + " 7 -"}
	}
	return nil
}

// TestKeepTermination: the hub's request to stop an operation stays until the cluster reports the termination, or until
// a waiting operation is withdrawn. Before the request is overwritten, the work is read past the cache.
func TestKeepTermination(t *testing.T) {
	const began = "2026-01-01T00:00:00Z"
	stop := relay.TerminationID(began)
	for title, tc := range map[string]struct {
		there        string
		asks         bool
		cached, live string
		kept         bool
	}{
		"it runs":                              {there: "Running", kept: true},
		"it has ended":                         {there: "Failed"},
		"it has ended, and another waits":      {there: "Failed", asks: true, cached: stop, live: stop},
		"the other one is to be stopped":       {there: "Failed", asks: true, cached: "1-b", kept: true},
		"the other one, and the cache is late": {there: "Failed", asks: true, cached: stop, live: "1-b", kept: true},
	} {
		t.Run(title, func(t *testing.T) {
			b := fixture.Application("guestbook").Runs("Terminating", began)
			if tc.asks {
				b.Operation(`{"sync":{}}`)
			}
			status := argocd.Status{OperationState: &argocd.OperationState{Phase: tc.there, StartedAt: began}}
			r := &Reconciler{Client: remembering{id: tc.cached}, Live: remembering{id: tc.live}}
			if err := r.keepTermination(t.Context(), b.Obj(), &status); err != nil {
				t.Fatal(err)
			}
			if kept := status.OperationState.Phase == "Terminating"; kept != tc.kept {
				t.Errorf("the hub shows %s", status.OperationState.Phase)
			}
		})
	}
}
