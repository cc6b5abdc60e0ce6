package argocache

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// SetAll writes entries with the same lifetime, in a transaction.
func (r *Redis) SetAll(ctx context.Context, entries map[string][]byte, expiry time.Duration) error {
	_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for key, value := range entries {
			p.Set(ctx, key, value, expiry)
		}
		return nil
	})
	return err
}

// RemoveAll deletes the existing entries of the keys.
func (r *Redis) RemoveAll(ctx context.Context, keys ...string) error {
	return r.client.Del(ctx, keys...).Err()
}

// EachKey calls visit for each key of a pattern, until visit returns an error. Redis may name a key twice, and may leave
// out a key that appears meanwhile.
func (r *Redis) EachKey(ctx context.Context, pattern string, visit func(key string) error) error {
	keys := r.client.Scan(ctx, 0, pattern, scanned).Iterator()
	for keys.Next(ctx) {
		if err := visit(keys.Val()); err != nil {
			return err
		}
	}
	return keys.Err()
}

// scanned is the number of keys that Redis compares with a pattern for a request.
const scanned = 1000
