package resourcetree

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long any one step of a request to Redis may take: it is near, and nothing waits for it but workers.
const patience = 3 * time.Second

// connections is how many are open to Redis at most.
const connections = 8

// Store is a cache with entries that expire.
type Store interface {
	// Set writes an entry and tells those who listen to the channel.
	Set(ctx context.Context, key, channel string, value []byte, expiry time.Duration) error

	// Renew has an entry live on, and tells whether it is there.
	Renew(ctx context.Context, key string, expiry time.Duration) (bool, error)

	// Remove takes an entry away, which need not be there, and tells those who listen to the channel.
	Remove(ctx context.Context, key, channel string) error
}

// Address says where Argo CD's Redis is, and how to be let in.
type Address struct {
	// HostPort is host:port.
	HostPort string

	// TLS has the connection encrypted, and the server verified: by the authorities in CAFile, in PEM, or by the
	// system's where that is empty. The file is read for every connection.
	TLS    bool
	CAFile string

	// PasswordFile holds the password; empty for a Redis without one. It is read for every connection.
	PasswordFile string
}

// Redis is a Store.
type Redis struct{ client *redis.Client }

var _ Store = &Redis{}

// silent drops what the library says of connections that fail: the controller says so once.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// NewRedis connects to nothing yet.
func NewRedis(a Address) *Redis {
	redis.SetLogger(silent{})
	return &Redis{redis.NewClient(&redis.Options{
		Addr: a.HostPort, PoolSize: connections, MaxRetries: 1, DisableIdentity: true,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience, ContextTimeoutEnabled: true,
		Dialer: a.dial, CredentialsProviderContext: a.credentials,
	})}
}

// Set implements Store, in one round trip.
func (r *Redis) Set(ctx context.Context, key, channel string, value []byte, expiry time.Duration) error {
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, key, value, expiry)
		p.Publish(ctx, channel, "")
		return nil
	})
	return err
}

// Renew implements Store.
func (r *Redis) Renew(ctx context.Context, key string, expiry time.Duration) (bool, error) {
	return r.client.Expire(ctx, key, expiry).Result()
}

// Remove implements Store.
func (r *Redis) Remove(ctx context.Context, key, channel string) error {
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, key)
		p.Publish(ctx, channel, "")
		return nil
	})
	return err
}

func (a Address) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: patience}
	if !a.TLS {
		return dialer.DialContext(ctx, network, address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CAFile != "" {
		pem, err := os.ReadFile(a.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", a.CAFile)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, network, address)
}

func (a Address) credentials(context.Context) (user, password string, err error) {
	if a.PasswordFile == "" {
		return "", "", nil
	}
	data, err := os.ReadFile(a.PasswordFile)
	if err != nil {
		return "", "", err
	}
	return "", strings.TrimRight(string(data), "\r\n"), nil
}
