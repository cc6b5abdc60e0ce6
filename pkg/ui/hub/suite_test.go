package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/towline-io/towline/pkg/fixture/apiserver"
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
	if env.CRDs, err = apiserver.CRDs("../../.."); err != nil {
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

func create(ctx context.Context, t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := admin.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}
