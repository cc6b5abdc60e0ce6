package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// poll repeats try until it succeeds or the context ends. In the second case, the error has the cause of the end and
// the last error of try.
func poll(ctx context.Context, every time.Duration, try func(context.Context) error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
