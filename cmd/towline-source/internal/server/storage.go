package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/towline-io/towline/cmd/towline-source/internal/credential"
	"github.com/towline-io/towline/cmd/towline-source/internal/grants"
	"github.com/towline-io/towline/cmd/towline-source/internal/mirror"
	"github.com/towline-io/towline/pkg/source"
)

var resource = schema.GroupResource{Group: source.GroupVersion.Group, Resource: source.Resource}

// A Hub answers what the hub permits.
type Hub interface {
	// Of returns the grant of a cluster for a repository, and whether the grant exists.
	Of(ctx context.Context, cluster, name string) (grants.Grant, bool, error)

	// All returns all grants of a cluster.
	All(ctx context.Context, cluster string) ([]grants.Grant, error)

	// Credential returns the hub's access to the repository of a grant.
	Credential(ctx context.Context, grant grants.Grant) (credential.Credential, error)
}

// repositories implements the REST verbs of repositories: get and list.
type repositories struct {
	hub     Hub
	mirrors *mirror.Mirrors
}

var (
	_ rest.Storage              = &repositories{}
	_ rest.Getter               = &repositories{}
	_ rest.Lister               = &repositories{}
	_ rest.Scoper               = &repositories{}
	_ rest.SingularNameProvider = &repositories{}
)

// New implements rest.Storage.
func (s *repositories) New() runtime.Object { return &Repository{} }

// NewList implements rest.Lister.
func (s *repositories) NewList() runtime.Object { return &RepositoryList{} }

// Destroy implements rest.Storage.
func (s *repositories) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (s *repositories) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (s *repositories) GetSingularName() string { return "repository" }

// Get implements rest.Getter.
func (s *repositories) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	cluster := request.NamespaceValue(ctx)
	grant, ok, err := s.hub.Of(ctx, cluster, name)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, apierrors.NewNotFound(resource, name)
	}
	return s.repository(ctx, cluster, grant), nil
}

// List implements rest.Lister, for one namespace: a list of all clusters would read all works.
func (s *repositories) List(ctx context.Context, _ *internalversion.ListOptions) (runtime.Object, error) {
	cluster := request.NamespaceValue(ctx)
	if cluster == "" {
		return nil, apierrors.NewBadRequest("name the namespace of a cluster, for example: kubectl get repositories -n cluster1")
	}
	all, err := s.hub.All(ctx, cluster)
	if err != nil {
		return nil, err
	}
	out := &RepositoryList{Items: []Repository{}}
	for _, grant := range all {
		out.Items = append(out.Items, *s.repository(ctx, cluster, grant))
	}
	return out, nil
}

// repository returns the object of a grant.
func (s *repositories) repository(ctx context.Context, cluster string, grant grants.Grant) *Repository {
	out := &Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: grant.Name},
		Spec:       RepositorySpec{Address: Shown(grant.Address), Project: strings.Join(grant.Projects, ",")},
	}
	access, err := s.hub.Credential(ctx, grant)
	if err != nil {
		out.Status.Failure = told(err)
		return out
	}
	out.Status.Secrets = access.Secrets
	state, ok := s.mirrors.State(mirror.Repository{Address: grant.Address, Credential: access})
	if !ok {
		return out
	}
	out.Status.LastChecked, out.Status.LastFetched = timeOf(state.Checked), timeOf(state.Fetched)
	out.Status.References, out.Status.Bytes = state.References, state.Bytes
	if state.Err != nil {
		out.Status.Failure = told(state.Err)
	}
	return out
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

// ConvertToTable implements rest.TableConvertor.
func (s *repositories) ConvertToTable(_ context.Context, object, _ runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name"},
		{Name: "Address", Type: "string"},
		{Name: "Project", Type: "string", Priority: 1},
		{Name: "Checked", Type: "string"},
		{Name: "Fetched", Type: "string"},
		{Name: "Size", Type: "string"},
		{Name: "Reason", Type: "string"},
		{Name: "Error", Type: "string"},
	}}
	switch o := object.(type) {
	case *Repository:
		table.Rows = append(table.Rows, row(o))
	case *RepositoryList:
		for i := range o.Items {
			table.Rows = append(table.Rows, row(&o.Items[i]))
		}
	default:
		return nil, fmt.Errorf("no table for %T", object)
	}
	return table, nil
}

// age returns the time since t, for a table.
func age(t *metav1.Time) string {
	if t.IsZero() {
		return "never"
	}
	return duration.HumanDuration(time.Since(t.Time)) + " ago"
}

func row(r *Repository) metav1.TableRow {
	return metav1.TableRow{
		Object: runtime.RawExtension{Object: r},
		Cells: []any{
			r.Name, r.Spec.Address, r.Spec.Project, age(r.Status.LastChecked), age(r.Status.LastFetched), sizeOf(r.Status.Bytes),
			r.Status.Reason, r.Status.Error,
		},
	}
}

func sizeOf(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// proxy implements the subresource proxy.
type proxy struct {
	*handler
}

var _ rest.Connecter = &proxy{}

// New implements rest.Storage.
func (p *proxy) New() runtime.Object { return &RepositoryProxyOptions{} }

// Destroy implements rest.Storage.
func (p *proxy) Destroy() {}

// ConnectMethods implements rest.Connecter.
func (p *proxy) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions implements rest.Connecter.
func (p *proxy) NewConnectOptions() (runtime.Object, bool, string) {
	return &RepositoryProxyOptions{}, true, "path"
}

// Connect implements rest.Connecter.
func (p *proxy) Connect(ctx context.Context, name string, options runtime.Object, _ rest.Responder) (http.Handler, error) {
	asked, ok := options.(*RepositoryProxyOptions)
	if !ok {
		return nil, fmt.Errorf("unexpected options %T", options)
	}
	user, _ := request.UserFrom(ctx)
	cluster := request.NamespaceValue(ctx)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, user, cluster, name, asked.Path) }), nil
}
