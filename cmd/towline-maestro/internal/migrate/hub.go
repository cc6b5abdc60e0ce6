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
	// pageSize is how many works are read from the hub in one request.
	pageSize = 500

	// handover is how long the hub's API may take to answer from its own etcd after the APIService has been deleted.
	handover = 30 * time.Second

	// apiService is the path of the object that says who serves works.
	apiService = "/apis/apiregistration.k8s.io/v1/apiservices/v1.work.open-cluster-management.io"

	// firstOfMirror is below all resourceVersions of towline-maestro, which counts from the time in nanoseconds, and above those of
	// etcd, which counts writes.
	firstOfMirror = 1e18
)

// errServed says that requests for works do not reach the hub's etcd.
var errServed = errors.New("the hub's API does not serve the works of its own etcd: " +
	"first delete the APIService v1.work.open-cluster-management.io, while Towline is stopped (see docs/maestro.md)")

// Hub reads and writes the works that the hub has in its etcd.
type Hub struct{ client *workclient.Clientset }

// NewHub makes a client of the hub, without a limit on requests: the hub's API server has its own.
func NewHub(config *rest.Config) (*Hub, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := workclient.NewForConfig(config)
	return &Hub{c}, err
}

// Ready is an error unless the hub's API serves works from its etcd. It waits while that begins.
func (h *Hub) Ready(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, handover, true, func(ctx context.Context) (bool, error) {
		served, err := h.served(ctx)
		if err == nil && served {
			return false, errServed // it stays so
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

// served tells whether another server serves works. An error may be over in a moment: Kubernetes makes its own APIService again.
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

// List reads the works of some clusters, or of all for none.
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

// page reads some works, and refuses an answer of towline-maestro: each of the hub's API servers learns in its own time who serves.
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

// write makes a copy of a work in the hub's etcd, or makes what is there the same. It has the finalizer of the agent from the start:
// without it, a deletion would not wait for the agent.
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

// report copies what the agent has said of a work: what the hub's etcd has of that may be from before an earlier move.
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

// forget removes a work from the hub's etcd without asking an agent. It fails where the work is not in the version that was read: it may
// have changed, or may not be in etcd.
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
		return fmt.Errorf("the work has been changed meanwhile: if by its cluster's agent, this still fetches works from the hub: %w", err)
	}
	return err
}
