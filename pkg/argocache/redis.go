package argocache

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is the timeout for each step of a Redis request. Redis is near, and only workers wait for the answer.
const patience = 3 * time.Second

// connections is the maximum number of open connections to Redis.
const connections = 8

// lifetime is the maximum age of a connection. A new connection asks the source again, and notices a changed address
// even if the former Redis still answers.
const lifetime = 10 * time.Minute

// silence is how long a listening connection waits for a message before a ping.
const silence = 30 * time.Second

// Redis is a client for the Redis of an Argo CD.
type Redis struct {
	source Source
	client *redis.Client
}

// silent drops the library's messages about failed connections. The callers report the failure once.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// NewRedis returns a client without a connection. Each new connection asks the source for the endpoint.
func NewRedis(source Source) *Redis {
	redis.SetLogger(silent{})
	r := &Redis{source: source}
	r.client = redis.NewClient(&redis.Options{
		PoolSize: connections, ConnMaxLifetime: lifetime, MaxRetries: 1, DisableIdentity: true,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, PoolTimeout: patience, ContextTimeoutEnabled: true,
		Dialer: r.dial, CredentialsProviderContext: r.credentials, OnConnect: r.choose,
	})
	return r
}

// Plain reports whether Argo CD stores entries without compression.
func (r *Redis) Plain(ctx context.Context) (bool, error) {
	e, err := r.source.Endpoint(ctx)
	return e.Plain, err
}

// Set writes an entry and publishes a message to the channel, in a single round trip.
func (r *Redis) Set(ctx context.Context, key, channel string, value []byte, expiry time.Duration) error {
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, key, value, expiry)
		p.Publish(ctx, channel, "")
		return nil
	})
	return err
}

// Renew extends the life of an entry, and reports whether the entry exists.
func (r *Redis) Renew(ctx context.Context, key string, expiry time.Duration) (bool, error) {
	return r.client.Expire(ctx, key, expiry).Result()
}

// Exists reports whether an entry exists.
func (r *Redis) Exists(ctx context.Context, key string) (bool, error) {
	n, err := r.client.Exists(ctx, key).Result()
	return n > 0, err
}

// Remove deletes an entry, if the entry exists, and publishes a message to the channel.
func (r *Redis) Remove(ctx context.Context, key, channel string) error {
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, key)
		p.Publish(ctx, channel, "")
		return nil
	})
	return err
}

// Get returns an entry; nil for a missing entry.
func (r *Redis) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := r.client.Get(ctx, key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}

// Listen calls heard for each message to the channels of a pattern, until the connection fails or ctx ends. It calls
// began after the subscription. Earlier messages are lost.
func (r *Redis) Listen(ctx context.Context, pattern string, began func(), heard func(channel string)) error {
	messages := r.client.PSubscribe(ctx, pattern)
	defer messages.Close()
	defer context.AfterFunc(ctx, func() { _ = messages.Close() })()
	for asked := false; ctx.Err() == nil; {
		message, err := messages.ReceiveTimeout(ctx, silence)
		var late net.Error
		switch m := message.(type) {
		case *redis.Subscription:
			began()
		case *redis.Message:
			heard(m.Channel)
		}
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &late) && late.Timeout() && !asked:
			if err := messages.Ping(ctx); err != nil {
				return err
			}
			asked = true
		default:
			return err
		}
	}
	return ctx.Err()
}

func (r *Redis) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	e, err := r.source.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: patience}
	if !e.TLS {
		return dialer.DialContext(ctx, network, e.HostPort)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(e.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(e.CA) {
			return nil, fmt.Errorf("%s: the authority that should vouch for it holds no certificate", e.HostPort)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, network, e.HostPort)
}

func (r *Redis) credentials(ctx context.Context) (user, password string, err error) {
	e, err := r.source.Endpoint(ctx)
	return "", e.Password, err
}

// choose selects Argo CD's database on a new connection.
func (r *Redis) choose(ctx context.Context, conn *redis.Conn) error {
	e, err := r.source.Endpoint(ctx)
	if err != nil || e.DB == 0 {
		return err
	}
	return conn.Select(ctx, e.DB).Err()
}
