package resourcetree

import (
	"context"
	"time"

	"github.com/towline-io/towline/pkg/argocache"
)

// Store is a cache with entries that expire.
type Store interface {
	// Set writes an entry and tells those who listen to the channel.
	Set(ctx context.Context, key, channel string, value []byte, expiry time.Duration) error

	// Renew has an entry live on, and tells whether it is there.
	Renew(ctx context.Context, key string, expiry time.Duration) (bool, error)

	// Remove takes an entry away, which need not be there, and tells those who listen to the channel.
	Remove(ctx context.Context, key, channel string) error

	// Plain tells whether Argo CD does not compress what it keeps there.
	Plain(ctx context.Context) (bool, error)
}

var _ Store = &argocache.Redis{}
