package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/towline-io/towline/cmd/towline-source/internal/managed"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/source"
)

// ManagedResources are the managed resources of an Application. Agents write the content. Users read the state here, and
// never the content.
type ManagedResources struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status managedresources.Status `json:"status"`
}

// DeepCopyObject implements runtime.Object.
func (m *ManagedResources) DeepCopyObject() runtime.Object {
	out := *m
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta) //nolint:staticcheck // names the copied part
	out.Status.Since = m.Status.Since.DeepCopy()
	return &out
}

// managedStorage implements the verbs get, update and delete of managed resources. The body of an update is the compressed
// content, and not an object.
type managedStorage struct{ *handler }

// maxBodies is the maximum number of requests with a body at the same time. A body has up to 2 MiB. A slow client holds
// a place here, and none of the few places for writes.
const maxBodies = 16

// busy has the clusters with a request with a body. A cluster has a single such request at a time, and further requests
// are refused, because an agent sends one request after another.
type busy struct {
	mu       sync.Mutex
	clusters map[string]bool
}

// begin takes a place for a request of a cluster, and returns the function that gives the place back. The bool is false
// without a free place.
func (b *busy) begin(cluster string) (func(), bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clusters[cluster] || len(b.clusters) >= maxBodies {
		return nil, false
	}
	if b.clusters == nil {
		b.clusters = map[string]bool{}
	}
	b.clusters[cluster] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.clusters, cluster)
	}, true
}

var (
	_ rest.Connecter            = &managedStorage{}
	_ rest.Getter               = &managedStorage{}
	_ rest.TableConvertor       = &managedStorage{}
	_ rest.Scoper               = &managedStorage{}
	_ rest.SingularNameProvider = &managedStorage{}
)

// New implements rest.Storage.
func (s *managedStorage) New() runtime.Object { return &ManagedResources{} }

// Destroy implements rest.Storage.
func (s *managedStorage) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *managedStorage) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (s *managedStorage) GetSingularName() string { return "managedresources" }

// Get implements rest.Getter: the state of the managed resources of a work's Application.
func (s *managedStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	by, _ := request.UserFrom(ctx)
	cluster := request.NamespaceValue(ctx)
	absent := apierrors.NewNotFound(schema.GroupResource{Group: source.GroupVersion.Group, Resource: managedresources.Resource}, name)
	if !ofCluster(by, cluster) {
		return nil, absent
	}
	status, err := s.managed.Status(ctx, cluster, name)
	switch {
	case errors.Is(err, managed.ErrAbsent):
		return nil, absent
	case err != nil:
		return nil, err
	}
	return &ManagedResources{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}, Status: status}, nil
}

// ConvertToTable implements rest.TableConvertor.
func (s *managedStorage) ConvertToTable(_ context.Context, object, _ runtime.Object) (*metav1.Table, error) {
	m, ok := object.(*ManagedResources)
	if !ok {
		return nil, fmt.Errorf("no table for %T", object)
	}
	return &metav1.Table{
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name"},
			{Name: "Application", Type: "string"},
			{Name: "Size", Type: "string"},
			{Name: "Missing", Type: "string"},
			{Name: "Since", Type: "string"},
		},
		Rows: []metav1.TableRow{{
			Object: runtime.RawExtension{Object: m},
			Cells:  []any{m.Name, m.Status.Application, sizeOf(m.Status.Bytes), string(m.Status.Reason), age(m.Status.Since)},
		}},
	}, nil
}

// ConnectMethods implements rest.Connecter.
func (s *managedStorage) ConnectMethods() []string {
	return []string{http.MethodPut, http.MethodDelete}
}

// NewConnectOptions implements rest.Connecter.
func (s *managedStorage) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

// Connect implements rest.Connecter.
func (s *managedStorage) Connect(ctx context.Context, name string, _ runtime.Object, _ rest.Responder) (http.Handler, error) {
	by, _ := request.UserFrom(ctx)
	cluster := request.NamespaceValue(ctx)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.take(w, r, by, cluster, name); err != nil {
			s.answer(w, err, cluster, name)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}), nil
}

// take carries out a request.
func (s *managedStorage) take(w http.ResponseWriter, r *http.Request, by user.Info, cluster, work string) error {
	digest := r.URL.Query().Get(managedresources.Digest)
	switch {
	case !ofCluster(by, cluster):
		return managed.ErrAbsent
	case r.Method == http.MethodDelete:
		because := managedresources.ReadReason(r.URL.Query().Get(managedresources.Because))
		return s.managed.Remove(r.Context(), cluster, work, because)
	case digest != "":
		return s.managed.Renew(r.Context(), cluster, work, digest)
	}
	done, ok := s.limits.busy.begin(cluster)
	if !ok {
		return errTooMany
	}
	defer done()
	body, err := io.ReadAll(io.LimitReader(s.pace.Body(w, r), managedresources.MaxCompressed+1))
	switch {
	case err != nil:
		return errors.Join(managed.ErrInvalid, err)
	case len(body) > managedresources.MaxCompressed:
		return managedresources.ErrTooLarge
	}
	written, err := s.limits.take(r.Context(), s.limits.writes)
	if err != nil {
		return err
	}
	defer written()
	return s.managed.Put(r.Context(), cluster, work, body)
}

// answers are the codes of the answers, and the reasons in the metrics. The first match counts.
var answers = []struct {
	err    error
	code   int
	reason string
}{
	{managed.ErrAbsent, http.StatusNotFound, "absent"},
	{managed.ErrClosed, http.StatusForbidden, "closed"},
	{managed.ErrUnknown, http.StatusConflict, ""},
	{managed.ErrFull, http.StatusInsufficientStorage, "full"},
	{managedresources.ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{managed.ErrInvalid, http.StatusUnprocessableEntity, "invalid"},
	{errTooMany, http.StatusTooManyRequests, "busy"},
}

// hubFails is the reason of all further errors.
const hubFails = "hub"

// answer answers a request that changed nothing. The text names nothing of the hub: the cluster chose the content.
func (s *managedStorage) answer(w http.ResponseWriter, err error, cluster, work string) {
	for _, a := range answers {
		if errors.Is(err, a.err) {
			if a.reason != "" {
				managed.Failures.WithLabelValues(a.reason).Inc()
			}
			http.Error(w, a.err.Error(), a.code)
			return
		}
	}
	managed.Failures.WithLabelValues(hubFails).Inc()
	s.log.Info("Managed resources were not written to Argo CD's Redis", "cluster", cluster, "work", work, "error", err.Error())
	http.Error(w, "towline-source cannot write to Argo CD's Redis", http.StatusServiceUnavailable)
}
