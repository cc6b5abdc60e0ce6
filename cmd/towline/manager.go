package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/towline-io/towline/controllers"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

const (
	// reconcileTimeout ends a reconcile with a hanging request.
	reconcileTimeout = time.Minute

	// stuckAfter is how long a worker may process an object before the process counts as broken. A reconcile with a
	// working deadline never takes as long.
	stuckAfter = 5 * reconcileTimeout
)

func managerOptions(scheme *runtime.Scheme, o *options) ctrl.Options {
	m := commonManagerOptions(scheme, &o.common)
	m.Cache = controllers.Cache(o.argocdNamespace, o.appNamespaces)
	m.NewClient = controllers.NewClient
	elect(&m, o)
	return m
}

// commonManagerOptions returns the manager options of every long-running command.
func commonManagerOptions(scheme *runtime.Scheme, o *common) ctrl.Options {
	return ctrl.Options{
		Scheme:                  scheme,
		Controller:              controllerSettings(),
		Metrics:                 metricsOptions(o),
		HealthProbeBindAddress:  o.probeAddress,
		PprofBindAddress:        o.pprofAddress,
		GracefulShutdownTimeout: ptr.To(shutdownTimeout),
	}
}

func controllerSettings() config.Controller {
	s := controllers.Settings()
	s.ReconciliationTimeout = reconcileTimeout
	// A waiting replica fills its whole cache, and can lead at once.
	s.EnableWarmup = ptr.To(true)
	return s
}

func metricsOptions(o *common) metricsserver.Options {
	m := metricsserver.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure, CertDir: o.metricsCertDir}
	if o.metricsSecure {
		m.FilterProvider = newGuard
		m.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }}
	}
	return m
}

// addProbes adds /healthz and /readyz. /healthz fails for a stuck worker, because only a restart helps. /readyz fails
// until the cache has the objects of the hub.
func addProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("workers", stuckWorkers); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("cache", cacheFilled(mgr.GetCache(), cacheEmpty))
}

// The messages of a probe before the cache is filled.
const (
	cacheEmpty = "the cache has not been filled yet: are the CRDs of Argo CD and OCM installed, and may this ServiceAccount list Applications " +
		"and ManifestWorks?"
	hubAway = "the hub has not been reached yet: is the hub reachable, and may the agent list ApplicationReports in its cluster's namespace?"
)

// cacheFilled returns a check for waiting and leading replicas: all keep a full cache, so the next leader can start
// at once.
func cacheFilled(c cache.Cache, otherwise string) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			// The probe's answer hides the reason, so the log has the reason.
			ctrl.Log.Info("Not ready", "reason", otherwise)
			return errors.New(otherwise)
		}
		return nil
	}
}

// stuckWorkers reads controller-runtime's own gauge of the longest running reconcile.
func stuckWorkers(*http.Request) error {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return err
	}
	for _, family := range families {
		if family.GetName() != "workqueue_longest_running_processor_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			if age := m.GetGauge().GetValue(); age > stuckAfter.Seconds() {
				return fmt.Errorf("controller %s has worked on the same object for %.0f s", label(m, "controller"), age)
			}
		}
	}
	return nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
