package argocache

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/towline-io/towline/pkg/argoredis"
)

// Source returns the endpoint of Argo CD's Redis, with the credentials.
type Source interface {
	Endpoint(ctx context.Context) (argoredis.Endpoint, error)
}

// Address is a Source for a configured Redis.
type Address struct {
	// HostPort is host:port.
	HostPort string

	// TLS encrypts the connection, and verifies the server by the authorities in CAFile (PEM). With an empty CAFile,
	// the authorities of the system count. Each new connection reads the file again.
	TLS    bool
	CAFile string

	// PasswordFile is the file with the password; empty for a Redis without a password. Each new connection reads the
	// file again.
	PasswordFile string

	// Plain is set if Argo CD stores entries without compression.
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
		if len(pem) == 0 { // an empty CA would mean the authorities of the system
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
