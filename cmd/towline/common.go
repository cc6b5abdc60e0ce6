package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
)

// common has the flags of every long-running command.
type common struct {
	kubeconfig string

	metricsAddress string
	metricsSecure  bool
	metricsCertDir string
	probeAddress   string
	pprofAddress   string

	logLevel  string
	logFormat string
}

// shutdownTimeout is the time for running reconciles after SIGTERM. The grace period of the pods is a little longer.
const shutdownTimeout = 30 * time.Second

func newCommon() common {
	return common{
		metricsAddress: ":8443",
		metricsSecure:  true,
		probeAddress:   ":8081",
		logLevel:       "info",
		logFormat:      "json",
	}
}

// addFlags registers a flag for every option. whose names the cluster of the program in the help text.
func (o *common) addFlags(fs *pflag.FlagSet, whose string) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"path of the "+whose+"'s kubeconfig; default: $KUBECONFIG, the pod's own ServiceAccount, then ~/.kube/config")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress,
		"address of /metrics; \"0\" turns the metrics off")
	fs.BoolVar(&o.metricsSecure, "metrics-secure", o.metricsSecure,
		"serve metrics over HTTPS, and only to clients permitted by the "+whose+"'s API server to get the path /metrics")
	fs.StringVar(&o.metricsCertDir, "metrics-cert-dir", o.metricsCertDir,
		"folder with tls.crt and tls.key for --metrics-secure; default: a self-signed certificate")
	fs.StringVar(&o.probeAddress, "health-probe-bind-address", o.probeAddress,
		"address of /healthz and /readyz; \"0\" turns the probes off")
	fs.StringVar(&o.pprofAddress, "pprof-bind-address", o.pprofAddress,
		"loopback address for profiles of the process, for example 127.0.0.1:6060; every user of the machine can read the profiles; default: no profiles")
	fs.StringVar(&o.logLevel, "log-level", o.logLevel,
		"error, info, debug, or a number from 0 to 7: 1 means debug, and higher numbers give more detail; above 7, the log would contain Secrets")
	fs.StringVar(&o.logFormat, "log-format", o.logFormat, "format of the log: json or console")
}

// validate returns all errors in the options, with the flag and the accepted values.
func (o *common) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	for flag, address := range map[string]string{
		"metrics-bind-address": o.metricsAddress, "health-probe-bind-address": o.probeAddress,
	} {
		if err := checkAddress(address); err != nil {
			fail("--%s: %q is not \"0\" or an address like :8443: %w", flag, address, err)
		}
	}
	if err := checkLoopback(o.pprofAddress); err != nil {
		fail("--pprof-bind-address: %q: %w", o.pprofAddress, err)
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
	if _, err := o.level(); err != nil {
		errs = append(errs, err)
	}
	if o.logFormat != "json" && o.logFormat != "console" {
		fail("--log-format: %q is not json or console", o.logFormat)
	}
	return errors.Join(errs...)
}

// maxLogLevel is the last level without request bodies in client-go's log. Request bodies may be Secrets.
const maxLogLevel = 7

// level returns the zap level of --log-level. Levels above info are positive numbers in logr, and negative numbers in
// zap.
func (o *common) level() (zapcore.Level, error) {
	switch o.logLevel {
	case "error":
		return zapcore.ErrorLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	}
	n, err := strconv.Atoi(o.logLevel)
	if err != nil || n < 0 || n > maxLogLevel {
		return 0, fmt.Errorf("--log-level: %q is not error, info, debug or a number from 0 to %d", o.logLevel, maxLogLevel)
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

// checkLoopback restricts profiles to the machine itself, because profiles show the content of the memory.
func checkLoopback(address string) error {
	if address == "" {
		return nil
	}
	if err := checkAddress(address); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return errors.New("must be a loopback address with a port, like 127.0.0.1:6060")
	}
	return nil
}
