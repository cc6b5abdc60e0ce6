package argocache

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/towline-io/towline/pkg/argoredis"
)

// Source tells where Argo CD's Redis is, and how to be let in.
type Source interface {
	Endpoint(ctx context.Context) (argoredis.Endpoint, error)
}

// Address is a Source for a Redis that somebody has named.
type Address struct {
	// HostPort is host:port.
	HostPort string

	// TLS has the connection encrypted, and the server verified: by the authorities in CAFile, in PEM, or by the
	// system's where that is empty. The file is read for every connection.
	TLS    bool
	CAFile string

	// PasswordFile holds the password; empty for a Redis without one. It is read for every connection.
	PasswordFile string

	// Plain is set where Argo CD does not compress what it keeps there.
	Plain bool
}

var _ Source = Address{}

// Endpoint implements Source.
func (a Address) Endpoint(context.Context) (argoredis.Endpoint, error) {
	e := argoredis.Endpoint{HostPort: a.HostPort, TLS: a.TLS, Plain: a.Plain}
	if a.CAFile != "" {
		pem, err := os.ReadFile(a.CAFile)
		if err != nil {
			return e, err
		}
		if len(pem) == 0 { // without authorities, those of the system would count
			return e, fmt.Errorf("%s holds no certificate", a.CAFile)
		}
		e.CA = pem
	}
	if a.PasswordFile != "" {
		data, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return e, err
		}
		e.Password = strings.TrimRight(string(data), "\r\n")
	}
	return e, nil
}
