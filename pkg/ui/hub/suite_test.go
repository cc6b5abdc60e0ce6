package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/reading"
)

// The API server of the tests.
var (
	env    = &envtest.Environment{}
	config *rest.Config
	admin  client.Client
)

// TestMain runs all tests against one API server of the fleet.
func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (code int, err error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run make test-envtest, or set it to the folder that `go -C e2e run ./cmd/fleet assets` prints")
	}
	if env.CRDs, err = loadCRDs(filepath.Join(assets, "crds")); err != nil {
		return 1, err
	}
	if config, err = env.Start(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, env.Stop()) }()
	config.QPS = -1
	again, answerTimeout = 2, 2*time.Second // set here because all feeds read both variables, and the feeds of a test may outlive the test
	scheme, err := reading.Scheme()
	if err != nil {
		return 1, err
	}
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return 1, err
	}
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// loadCRDs loads the CRDs of the read kinds. Argo CD's schemas take long, so an empty schema replaces each.
func loadCRDs(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob("../../../deploy/crds/apps.*.yaml")
	if err != nil {
		return nil, err
	}
	others, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, file := range append(files, others...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if crd.Spec.Group == "argoproj.io" {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
		}
		out = append(out, crd)
	}
	return out, nil
}

func create(ctx context.Context, t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}
