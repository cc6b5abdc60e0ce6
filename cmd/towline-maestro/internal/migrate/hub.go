package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// pageSize is the number of works in a single list request to the hub.
	pageSize = 500

	// handover is the longest time after the deletion of the APIService until the hub's API answers from the hub's
	// etcd.
	handover = 30 * time.Second

	// apiService is the path of the APIService. The APIService names the server of works.
	apiService = "/apis/apiregistration.k8s.io/v1/apiservices/v1.work.open-cluster-management.io"

	// firstOfMirror divides the resourceVersions of towline-maestro from the resourceVersions of etcd. towline-maestro
	// counts from the time in nanoseconds, above firstOfMirror. etcd counts writes, below firstOfMirror.
	firstOfMirror = 1e18
)

// errServed means that requests for works do not reach the hub's etcd.
var errServed = errors.New("the hub's API does not serve the works of its own etcd: " +
	"first delete the APIService v1.work.open-cluster-management.io, while Towline is stopped (see docs/maestro.md)")

// Hub reads and writes the works in the hub's etcd.
type Hub struct{ client *workclient.Clientset }

// NewHub returns a client of the hub without a client-side rate limit, because the hub's API server has a limit.
func NewHub(config *rest.Config) (*Hub, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := workclient.NewForConfig(config)
	return &Hub{c}, err
}

// Ready waits at most 30 seconds (handover) until the hub's API serves works from the hub's etcd. If a different server
// serves works, Ready returns errServed at once.
func (h *Hub) Ready(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, handover, true, func(ctx context.Context) (bool, error) {
		served, err := h.served(ctx)
		if err == nil && served {
			return false, errServed // A wait would not help, because the APIService stays.
		}
		if err == nil {
			_, err = h.page(ctx, metav1.ListOptions{Limit: 1})
		}
		last = err
		return err == nil, nil
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// served tells whether a server outside the hub's API server serves works. An error may be short, because Kubernetes
// creates the hub's own APIService again after a deletion.
func (h *Hub) served(ctx context.Context) (bool, error) {
	var service struct {
		Spec struct{ Service *struct{} }
	}
	data, err := h.client.RESTClient().Get().AbsPath(apiService).DoRaw(ctx)
	if err != nil {
		return false, err
	}
	err = json.Unmarshal(data, &service)
	return service.Spec.Service != nil, err
}

// List reads the works of the clusters from the hub's etcd. An empty list of clusters means all clusters.
func (h *Hub) List(ctx context.Context, clusters []string) ([]*workv1.ManifestWork, error) {
	var out []*workv1.ManifestWork
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := h.page(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("the works of the hub: %w", err)
		}
		for i := range list.Items {
			if chosen(clusters, list.Items[i].Namespace) {
				out = append(out, &list.Items[i])
			}
		}
		if list.Continue == "" {
			return out, nil
		}
		options.Continue = list.Continue
	}
}

// page reads a page of works. An answer of towline-maestro is the error errServed. Each of the hub's API servers learns
// at a different time about a change of the APIService.
func (h *Hub) page(ctx context.Context, options metav1.ListOptions) (*workv1.ManifestWorkList, error) {
	list, err := h.client.WorkV1().ManifestWorks(metav1.NamespaceAll).List(ctx, options)
	if err != nil {
		return nil, err
	}
	if version, err := strconv.ParseFloat(list.ResourceVersion, 64); err != nil || version >= firstOfMirror {
		return nil, errServed
	}
	return list, nil
}

// write creates, updates or removes a work in the hub's etcd, and copies the agent's status. A created work has the
// finalizer of the work agent from the start, because a deletion without the finalizer would not wait for the agent.
func (h *Hub) write(ctx context.Context, s Step) error {
	if s.Verb == Remove {
		return h.forget(ctx, s.To)
	}
	works := h.client.WorkV1().ManifestWorks(s.From.Namespace)
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.From.Namespace, Name: s.From.Name, Labels: s.From.Labels, Annotations: s.From.Annotations,
		OwnerReferences: s.From.OwnerReferences, Finalizers: []string{workv1.ManifestWorkFinalizer},
	}, Spec: s.From.Spec}
	var err error
	switch s.Verb {
	case Create:
		w, err = works.Create(ctx, w, metav1.CreateOptions{})
	case Update:
		w.UID, w.ResourceVersion, w.Finalizers = s.To.UID, s.To.ResourceVersion, s.To.Finalizers
		w, err = works.Update(ctx, w, metav1.UpdateOptions{})
	default:
		w = s.To
	}
	if err != nil {
		return err
	}
	return h.report(ctx, s.From, w)
}

// report copies the agent's status of a work to the hub's etcd, because the status in the hub's etcd may be older than
// an earlier migration. A work without conditions is left unchanged.
func (h *Hub) report(ctx context.Context, from, w *workv1.ManifestWork) error {
	status := reported(from, w.Generation)
	if len(status.Conditions) == 0 || apiequality.Semantic.DeepEqual(status, w.Status) {
		return nil
	}
	w = w.DeepCopy()
	w.Status = status
	_, err := h.client.WorkV1().ManifestWorks(w.Namespace).UpdateStatus(ctx, w, metav1.UpdateOptions{})
	return err
}

// forget removes a work from the hub's etcd without a confirmation by the agent: forget removes the finalizers first.
// forget fails if the version of the work differs from the read version. The work may have changed, or may not be in
// etcd.
func (h *Hub) forget(ctx context.Context, w *workv1.ManifestWork) error {
	works := h.client.WorkV1().ManifestWorks(w.Namespace)
	if len(w.Finalizers) > 0 {
		w = w.DeepCopy()
		w.Finalizers = nil
		var err error
		if w, err = works.Update(ctx, w, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	err := works.Delete(ctx, w.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: ptr.To(w.UID), ResourceVersion: ptr.To(w.ResourceVersion),
	}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if apierrors.IsConflict(err) {
		return fmt.Errorf("the work has changed meanwhile: if the cluster's agent has changed the work, the agent still reads works from the hub: %w", err)
	}
	return err
}
