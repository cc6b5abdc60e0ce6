package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/towline-io/towline/pkg/argocache"
)

// redisOptions are the flags about the Redis of the hub's Argo CD.
type redisOptions struct {
	redis    argocache.Address
	compress string
	live     bool
}

// How Argo CD keeps entries in its Redis (--redis-compress of its own).
const (
	gzipped = "gzip"
	plain   = "none"
)

func newRedisOptions() redisOptions { return redisOptions{compress: gzipped} }

func (o *redisOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.redis.HostPort, "argocd-redis", o.redis.HostPort,
		"host:port of the Redis of the hub's Argo CD, where Towline writes the resources of Applications; "+
			"default: the Redis that Argo CD's own objects name")
	fs.BoolVar(&o.redis.TLS, "argocd-redis-use-tls", o.redis.TLS, "connect to that Redis by TLS and verify its certificate")
	fs.StringVar(&o.redis.CAFile, "argocd-redis-ca-certificate", o.redis.CAFile,
		"PEM file with the certificate authorities for that Redis; default: the authorities of the system")
	fs.StringVar(&o.redis.PasswordFile, "argocd-redis-password-file", o.redis.PasswordFile,
		"file with the password of that Redis; default: no password")
	fs.StringVar(&o.compress, "argocd-redis-compress", o.compress,
		"compression of the entries in that Redis, the same as Argo CD's own --redis-compress: gzip or none")
	fs.BoolVar(&o.live, "argocd-live-resources", o.live,
		"let users of argocd-server read live resources of Applications on the clusters, and change them if their rights permit it; needs Argo CD 3.5, "+
			"cluster.inClusterEnabled: \"false\" in argocd-cm, and a cluster Secret with credentials as the destination of the Application")
}

// validate returns every mistake in the options, each with the flag and what it takes.
func (o *redisOptions) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.compress != gzipped && o.compress != plain {
		fail("--argocd-redis-compress: %q is not %s or %s", o.compress, gzipped, plain)
	}
	if o.redis.HostPort == "" {
		return errors.Join(append(errs, o.unused()...)...)
	}
	if host, port, err := net.SplitHostPort(o.redis.HostPort); err != nil || host == "" || port == "" {
		fail("--argocd-redis: %q is not host:port", o.redis.HostPort)
	}
	if o.redis.CAFile != "" && !o.redis.TLS {
		fail("--argocd-redis-ca-certificate: of use only with --argocd-redis-use-tls")
	}
	for flag, file := range map[string]string{
		"argocd-redis-ca-certificate": o.redis.CAFile, "argocd-redis-password-file": o.redis.PasswordFile,
	} {
		if info, err := os.Stat(file); file != "" && err != nil {
			fail("--%s: %w", flag, err)
		} else if file != "" && info.IsDir() {
			fail("--%s: %s is a folder", flag, file)
		}
	}
	return errors.Join(errs...)
}

// address is the Redis that is named.
func (o *redisOptions) address() argocache.Address {
	a := o.redis
	a.Plain = o.compress == plain
	return a
}

// unused are the flags that were given for nothing.
func (o *redisOptions) unused() []error {
	var errs []error
	for flag, given := range map[string]bool{
		"use-tls": o.redis.TLS, "ca-certificate": o.redis.CAFile != "", "password-file": o.redis.PasswordFile != "",
		"compress": o.compress != gzipped,
	} {
		if given {
			errs = append(errs, fmt.Errorf("--argocd-redis-%s: of use only with --argocd-redis", flag))
		}
	}
	return errs
}
