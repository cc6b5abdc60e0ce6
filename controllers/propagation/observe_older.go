package propagation

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/apis"
)

const (
	// olderPage is the number of works in one page of a list. A hub may have a hundred times more works than the works
	// of Towline.
	olderPage = 500

	// olderRetry is the wait after a failed list.
	olderRetry = 5 * time.Second
)

// observeOlder finds the works of older controllers without the pull label, by which the cache selects: the works of
// ApplicationSets, and of standalone Applications before multicloud-integrations 2.13. It runs once, at the start: no
// controller creates such works while Towline runs. Towline's first write of each work adds the label.
func observeOlder(ctx context.Context, live client.Reader, found func(client.Object)) {
	for {
		err := listOlder(ctx, live, found)
		if err == nil || ctx.Err() != nil {
			return
		}
		ctrl.LoggerFrom(ctx).Error(err, "The works of older controllers cannot be listed; trying again")
		select {
		case <-ctx.Done():
		case <-time.After(olderRetry):
		}
	}
}

// listOlder lists the metadata of all works without the pull label, page by page.
func listOlder(ctx context.Context, live client.Reader, found func(client.Object)) error {
	none, err := labels.NewRequirement(apis.LabelPull, selection.DoesNotExist, nil)
	if err != nil {
		return err
	}
	fresh := func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.APIVersion, list.Kind = workv1.GroupVersion.String(), "ManifestWorkList"
		return list
	}
	return hub.Pages(ctx, live, fresh, func(list *metav1.PartialObjectMetadataList, _ string) error {
		for i := range list.Items {
			found(&list.Items[i])
		}
		return nil
	}, &client.ListOptions{LabelSelector: labels.NewSelector().Add(*none), Limit: olderPage})
}
