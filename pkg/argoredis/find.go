package argoredis

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Params is the ConfigMap with Argo CD's own flags.
const Params = "argocd-cmd-params-cm"

// TLS is the Secret that makes Argo CD's operator enable TLS for Redis. The certificate in the Secret vouches for
// Redis.
const TLS = "argocd-operator-redis-tls"

// Services are the names of the Redis Services, with the high-availability Services before the others of the same
// installation.
var Services = []string{
	"argocd-redis-ha-haproxy", "argocd-redis",
	"openshift-gitops-redis-ha-haproxy", "openshift-gitops-redis",
}

// Passwords are the Secrets with a possible password, and the key in each Secret. The first existing password counts.
var Passwords = []Password{
	{"argocd-redis", "auth"},
	{"argocd-redis-initial-password", "admin.password"},
	{"openshift-gitops-redis-initial-password", "admin.password"},
}

// Password is a Secret and a key in the Secret.
type Password struct{ Secret, Key string }

// ErrNone is the error for a namespace without a Redis under the known names.
var ErrNone = errors.New("no Redis of Argo CD is found")

// port is the default port of Redis, without a port in Argo CD's parameters.
const port = "6379"

// Facts are the objects in the namespace of Argo CD.
type Facts struct {
	// Namespace is the namespace of Argo CD.
	Namespace string

	// Params is the data of the ConfigMap Params; nil for none.
	Params map[string]string

	// Service is the first existing Service of Services; empty for none.
	Service string

	// Secrets are the data of the existing Secrets from Passwords and TLS, by name.
	Secrets map[string]map[string][]byte
}

// Endpoint is the address of a Redis, with the credentials.
type Endpoint struct {
	// HostPort is host:port.
	HostPort string

	// DB is the number of Argo CD's database in Redis.
	DB int

	// Password is empty for a Redis without a password.
	Password string

	// TLS encrypts the connection, and verifies the server by the authorities in CA (PEM). With an empty CA, the
	// authorities of the system count.
	TLS bool
	CA  []byte

	// Plain is set if Argo CD stores entries without compression.
	Plain bool
}

// Find returns the endpoint of the Redis. The error names the object and the remedy.
func Find(f Facts) (Endpoint, error) {
	address, err := f.address()
	if err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{HostPort: address, Plain: f.Params["redis.compression"] == "none", Password: f.password()}
	if db := f.Params["redis.db"]; db != "" {
		if e.DB, err = strconv.Atoi(db); err != nil || e.DB < 0 {
			return Endpoint{}, fmt.Errorf("ConfigMap %s/%s: redis.db is %q: set the number of a database", f.Namespace, Params, db)
		}
	}
	if secret, there := f.Secrets[TLS]; there {
		e.TLS, e.CA = true, secret["tls.crt"]
		if authority := secret["ca.crt"]; len(authority) > 0 {
			e.CA = authority
		}
		if len(e.CA) == 0 {
			return Endpoint{}, fmt.Errorf("the Secret %s/%s has neither ca.crt nor tls.crt: Towline verifies Redis by one of these fields, and not by the "+
				"authorities of the system", f.Namespace, TLS)
		}
	}
	return e, nil
}

// address returns the address in Argo CD's parameters, or else the address of the Service.
func (f Facts) address() (string, error) {
	given := f.Params["redis.server"]
	if given == "" && f.Service == "" {
		return "", fmt.Errorf("%w in namespace %s, by redis.server in ConfigMap %s or by a Service %s: name the Redis in the folder of --argocd-redis",
			ErrNone, f.Namespace, Params, strings.Join(Services, ", "))
	}
	if given == "" {
		given = net.JoinHostPort(f.Service, port)
	}
	host, number, err := net.SplitHostPort(given)
	if err != nil || host == "" || number == "" {
		return "", fmt.Errorf("ConfigMap %s/%s: redis.server is %q: set host:port", f.Namespace, Params, given)
	}
	if net.ParseIP(host) == nil && !strings.Contains(host, ".") && host != "localhost" {
		host += "." + f.Namespace + ".svc" // Towline may run in a different namespace
	}
	return net.JoinHostPort(host, number), nil
}

func (f Facts) password() string {
	for _, p := range Passwords {
		if data, there := f.Secrets[p.Secret]; there && len(data[p.Key]) > 0 {
			return strings.TrimRight(string(data[p.Key]), "\r\n")
		}
	}
	return ""
}
