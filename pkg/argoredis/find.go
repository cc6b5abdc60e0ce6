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

// TLS is the Secret by whose presence Argo CD's operator has Redis use TLS. Its certificate vouches for Redis.
const TLS = "argocd-operator-redis-tls"

// Services are the names of Redis, those that take part in high availability first.
var Services = []string{
	"argocd-redis-ha-haproxy", "argocd-redis",
	"openshift-gitops-redis-ha-haproxy", "openshift-gitops-redis",
}

// Passwords are the Secrets that may hold the password, and the key in each. The first that is there counts.
var Passwords = []Password{
	{"argocd-redis", "auth"},
	{"argocd-redis-initial-password", "admin.password"},
	{"openshift-gitops-redis-initial-password", "admin.password"},
}

// Password is a Secret and its key.
type Password struct{ Secret, Key string }

// ErrNone says that there is no Redis under the names that are known here.
var ErrNone = errors.New("no Redis of Argo CD is found")

// port is that of Redis, unless Argo CD's parameters say otherwise.
const port = "6379"

// Facts are the objects of Argo CD's namespace.
type Facts struct {
	// Namespace is Argo CD's.
	Namespace string

	// Params is the data of the ConfigMap Params; nil where there is none.
	Params map[string]string

	// Service is the first of Services that is there; empty for none.
	Service string

	// Secrets are the data of those of Passwords and of TLS that are there, by name.
	Secrets map[string]map[string][]byte
}

// Endpoint is a Redis.
type Endpoint struct {
	// HostPort is host:port.
	HostPort string

	// DB is the number of Argo CD's database there.
	DB int

	// Password is empty for a Redis without one.
	Password string

	// TLS has the connection encrypted, and the server verified by the authorities in CA, in PEM; by the system's where that
	// is empty.
	TLS bool
	CA  []byte

	// Plain is set where Argo CD does not compress what it keeps there.
	Plain bool
}

// Find tells where the Redis is. The error names the object and what to do.
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
			return Endpoint{}, fmt.Errorf("the Secret %s/%s has neither ca.crt nor tls.crt: Redis must be verified by one of them, and not by the "+
				"authorities of the system", f.Namespace, TLS)
		}
	}
	return e, nil
}

// address is what Argo CD was told, or that of the Service.
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
		host += "." + f.Namespace + ".svc" // Towline may run in another namespace
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
