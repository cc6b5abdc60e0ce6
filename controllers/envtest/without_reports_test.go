package envtest_test

import (
	"net/http"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/towline-io/towline/controllers"
)

// withoutReports is the REST mapper of a hub without the CRD of ApplicationReports.
type withoutReports struct{ meta.RESTMapper }

func (m withoutReports) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if kind.Kind == "ApplicationReport" {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}

// startWith runs all controllers on a hub with the given REST mapper, until the test ends.
func startWith(t *testing.T, serves func(meta.RESTMapper) meta.RESTMapper) {
	t.Helper()
	unshared(t)
	mgr, err := ctrl.NewManager(hub, ctrl.Options{
		Scheme: scheme, Cache: controllers.Cache(controllers.DefaultArgoCDNamespace, nil), NewClient: controllers.NewClient,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Controller:     settings(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return serves(mapper), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	o := controllers.Options{Enabled: controllers.Names, Concurrency: workers, CRDInterval: tick}
	if err := controllers.Add(t.Context(), mgr, o); err != nil {
		t.Fatal(err)
	}
	ended := began(t)
	var done sync.WaitGroup
	done.Go(func() {
		if err := controllers.Start(t.Context(), mgr); err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	t.Cleanup(func() {
		done.Wait()
		ended()
	})
}

func TestHubWithoutTheCRDOfApplicationReports(t *testing.T) {
	startWith(t, func(m meta.RESTMapper) meta.RESTMapper { return withoutReports{m} })
	app := application(t, cluster(t)).Obj()
	create(t, app)
	report(t, app, feedbackOf(app).Healthy("a"))
	expectHealth(t, app, "Healthy")
}
