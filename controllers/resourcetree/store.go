package resourcetree

import (
	"context"
	"time"

	"github.com/towline-io/towline/pkg/argocache"
)

// Store is a cache with entries that expire.
type Store interface {
	// Set writes an entry and publishes to the channel.
	Set(ctx context.Context, key, channel string, value []byte, expiry time.Duration) error

	// Renew extends the life of an entry, and returns whether the entry exists.
	Renew(ctx context.Context, key string, expiry time.Duration) (bool, error)

	// Remove deletes an entry and publishes to the channel. A missing entry is no error.
	Remove(ctx context.Context, key, channel string) error

	// Plain returns true if Argo CD does not compress its entries.
	Plain(ctx context.Context) (bool, error)
}

var _ Store = &argocache.Redis{}
