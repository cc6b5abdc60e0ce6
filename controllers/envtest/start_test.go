package envtest_test

import (
	"context"
	"net/http"
	"path"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/towline-io/towline/controllers"
)

// without returns a change of a manager: its cache gets no answer to a request for the resource until the test calls
// answer. The first request closes asked.
func without(resource string) (replica func(*ctrl.Options), asked <-chan struct{}, answer func()) {
	first, answers := make(chan struct{}), make(chan struct{})
	var once sync.Once
	return func(o *ctrl.Options) {
		o.NewCache = func(config *rest.Config, options cache.Options) (cache.Cache, error) {
			over := *options.HTTPClient
			next := over.Transport
			over.Transport = transport(func(r *http.Request) (*http.Response, error) {
				if path.Base(r.URL.Path) == resource {
					once.Do(func() { close(first) })
					<-answers
				}
				return next.RoundTrip(r)
			})
			options.HTTPClient = &over
			return cache.New(config, options)
		}
	}, first, func() { close(answers) }
}

// TestAProcessEndsWhileItsCacheFills: a process can end although its cache is still filling. The sync may take long, or
// never end.
func TestAProcessEndsWhileItsCacheFills(t *testing.T) {
	unshared(t)
	replica, asked, answer := without("applications")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	fills, _ := begin(ctx, t, replica, controllers.Options{}) // without controllers, so the abandoned part does nothing
	t.Cleanup(func() { answer(); fills.stop() })
	NewWithT(t).Eventually(asked, soon).Should(BeClosed())
	end()
	NewWithT(t).Eventually(fills.left, soon).Should(BeClosed())
	fills.expectNoFailure(t)
}
