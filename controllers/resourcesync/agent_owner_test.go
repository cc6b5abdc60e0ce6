package resourcesync

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/appreport"
)

// ofReports is a hub with a single report. unmarked is the work read past the cache.
type ofReports struct {
	client.Client
	report   *v1alpha1.ApplicationReport
	unmarked *metav1.PartialObjectMetadata
	made     []string
}

// reportCache is the cache of ofReports.
type reportCache struct {
	cache.Cache
	of *ofReports
}

func (c reportCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
	return c.of.Get(ctx, key, obj, o...)
}

func (o *ofReports) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch into := obj.(type) {
	case *v1alpha1.ApplicationReport:
		*into = *o.report
		return nil
	case *metav1.PartialObjectMetadata:
		if o.unmarked != nil {
			*into = *o.unmarked
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (o *ofReports) Patch(_ context.Context, _ client.Object, p client.Patch, _ ...client.PatchOption) error {
	data, err := p.Data(nil)
	o.made = append(o.made, "patch "+string(data))
	return err
}

func (o *ofReports) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	all := (&client.DeleteOptions{}).ApplyOptions(options)
	o.made = append(o.made, "delete "+string(*all.Preconditions.UID))
	return nil
}

// TestAReportWhoseWorkIsGone: an old enough report is deleted if the API server, and not only the cache, has no work.
func TestAReportWhoseWorkIsGone(t *testing.T) {
	report := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "guestbook-12345", UID: "r"}}
	hub := &ofReports{report: report}
	o := &owners{Client: hub, reports: reportCache{of: hub}, live: hub}
	expect := func(title, made string, again bool) {
		t.Helper()
		hub.made = nil
		result, err := o.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(report)})
		if got := strings.Join(hub.made, "; "); err != nil || (result.RequeueAfter > 0) != again || got != made {
			t.Errorf("%s: %v, %+v, %v", title, hub.made, result, err)
		}
	}
	report.CreationTimestamp = metav1.Now()
	expect("a new one", "", true)
	report.CreationTimestamp = metav1.NewTime(time.Now().Add(-appreport.OwnerGrace))
	expect("an old one", "delete r", false)
	hub.unmarked = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: report.Name, UID: "w"}}
	expect("one of a work without its marks", `patch {"metadata":{"ownerReferences":[{"apiVersion":"work.open-cluster-management.io/v1",`+
		`"kind":"ManifestWork","name":"guestbook-12345","uid":"w"}],"uid":"r"}}`, false)
	report.OwnerReferences = []metav1.OwnerReference{appreport.OwnerOf(&hub.unmarked.ObjectMeta)}
	hub.unmarked = nil
	expect("one with an owner", "", false)
}
