package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"

	"github.com/towline-io/towline/controllers"
)

// options are the flags of `towline controller`.
type options struct {
	kubeconfig  string
	controllers []string
	concurrency map[string]*int

	leaderElect             bool
	leaderElectionNamespace string

	metricsAddress string
	metricsSecure  bool
	metricsCertDir string
	probeAddress   string

	qps   float32
	burst int

	logLevel  string
	logFormat string

	shutdownTimeout time.Duration
}

// defaultConcurrency keeps some requests on their way to the API server all the time; what the controllers do
// between them takes microseconds.
const defaultConcurrency = 16

func newOptions() *options {
	o := &options{
		controllers:     []string{"*"},
		concurrency:     map[string]*int{},
		leaderElect:     true,
		metricsAddress:  ":8443",
		metricsSecure:   true,
		probeAddress:    ":8081",
		qps:             -1,
		burst:           0,
		logLevel:        "info",
		logFormat:       "json",
		shutdownTimeout: 30 * time.Second,
	}
	for _, name := range controllers.Names {
		n := defaultConcurrency
		o.concurrency[name] = &n
	}
	return o
}

// addFlags registers a flag for every option.
func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"path of the hub's kubeconfig; default: $KUBECONFIG, the pod's own ServiceAccount, then ~/.kube/config")
	fs.StringSliceVar(&o.controllers, "controllers", o.controllers,
		"controllers to run, \"*\" for all: "+strings.Join(controllers.Names, ", "))
	for _, name := range controllers.Names {
		fs.IntVar(o.concurrency[name], name+"-concurrency", *o.concurrency[name],
			"how many Applications the "+name+" controller works on at a time")
	}
	fs.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect,
		"let one of several replicas work at a time")
	fs.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", o.leaderElectionNamespace,
		"namespace of the leader's Lease; default: the pod's own; needed outside a pod unless --leader-elect=false")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress,
		"address of /metrics; \"0\" serves none")
	fs.BoolVar(&o.metricsSecure, "metrics-secure", o.metricsSecure,
		"serve metrics over HTTPS, to those whom the hub's API server allows to get the path /metrics")
	fs.StringVar(&o.metricsCertDir, "metrics-cert-dir", o.metricsCertDir,
		"folder with tls.crt and tls.key for --metrics-secure; default: a self-signed certificate")
	fs.StringVar(&o.probeAddress, "health-probe-bind-address", o.probeAddress,
		"address of /healthz and /readyz; \"0\" serves none")
	fs.Float32Var(&o.qps, "kube-api-qps", o.qps,
		"requests per second to the API server; negative: no limit here, the API server's priority and fairness decides")
	fs.IntVar(&o.burst, "kube-api-burst", o.burst,
		"requests that may exceed --kube-api-qps at once; default: twice as many; of use only with a positive --kube-api-qps")
	fs.StringVar(&o.logLevel, "log-level", o.logLevel,
		"error, info, debug, or a number: 1 is debug and each further one more detail, up to 10")
	fs.StringVar(&o.logFormat, "log-format", o.logFormat, "json or console")
	fs.DurationVar(&o.shutdownTimeout, "graceful-shutdown-timeout", o.shutdownTimeout,
		"how long work that has begun may take to end after SIGTERM")
}

// validate returns every mistake in the options, each with the flag and what it takes.
func (o *options) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if len(o.enabled()) == 0 {
		fail("--controllers: name at least one of %s, or \"*\"", strings.Join(controllers.Names, ", "))
	}
	for _, name := range o.controllers {
		if name != "*" && !slices.Contains(controllers.Names, name) {
			fail("--controllers: there is no controller %q: use %s, or \"*\"", name, strings.Join(controllers.Names, ", "))
		}
	}
	for _, name := range controllers.Names {
		if n := *o.concurrency[name]; n < 1 || n > 1000 {
			fail("--%s-concurrency: %d is not between 1 and 1000", name, n)
		}
	}
	for flag, address := range map[string]string{
		"metrics-bind-address": o.metricsAddress, "health-probe-bind-address": o.probeAddress,
	} {
		if err := checkAddress(address); err != nil {
			fail("--%s: %q is not \"0\" or an address like :8443: %w", flag, address, err)
		}
	}
	if o.metricsCertDir != "" {
		if !o.metricsSecure {
			fail("--metrics-cert-dir: of no use with --metrics-secure=false")
		} else if info, err := os.Stat(o.metricsCertDir); err != nil {
			fail("--metrics-cert-dir: %w", err)
		} else if !info.IsDir() {
			fail("--metrics-cert-dir: %s is not a folder", o.metricsCertDir)
		}
	}
	if o.qps == 0 {
		fail("--kube-api-qps: 0 would let no request through: use a positive number, or a negative one for no limit")
	}
	if o.burst < 0 {
		fail("--kube-api-burst: %d is negative", o.burst)
	}
	if o.burst > 0 && o.qps < 0 {
		fail("--kube-api-burst: of use only with a positive --kube-api-qps")
	}
	if _, err := o.level(); err != nil {
		errs = append(errs, err)
	}
	if o.logFormat != "json" && o.logFormat != "console" {
		fail("--log-format: %q is not json or console", o.logFormat)
	}
	if o.shutdownTimeout < 0 {
		fail("--graceful-shutdown-timeout: %s is negative", o.shutdownTimeout)
	}
	return errors.Join(errs...)
}

// enabled are the controllers to run, in the order of the data flow.
func (o *options) enabled() []string {
	if slices.Contains(o.controllers, "*") {
		return controllers.Names
	}
	var out []string
	for _, name := range controllers.Names {
		if slices.Contains(o.controllers, name) {
			out = append(out, name)
		}
	}
	return out
}

// level is the zap level of --log-level. Levels above info are numbers in logr and negative ones in zap.
func (o *options) level() (zapcore.Level, error) {
	switch o.logLevel {
	case "error":
		return zapcore.ErrorLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	}
	n, err := strconv.Atoi(o.logLevel)
	if err != nil || n < 0 || n > 10 {
		return 0, fmt.Errorf("--log-level: %q is not error, info, debug or a number from 0 to 10", o.logLevel)
	}
	return zapcore.Level(-n), nil
}

func checkAddress(address string) error {
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err
}
