package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietFor is how long a program must have been quiet before its memory is released.
	quietFor = 10 * time.Second

	// quietBytes is what a program that has nothing to do allocates in that time, at most: for leases and probes.
	quietBytes = 4 << 20
)

// memoryReleaser gives memory back to the machine when the program has become quiet. The garbage collector runs when the heap
// has grown by a share, and so not at all where nothing is allocated any more: what the busy time left would stay.
// With 10,000 Applications that is 8 of 140 MiB (docs/scale.md).
type memoryReleaser struct {
	allocated uint64
	busy      bool
}

// NeedLeaderElection tells the manager that the memory of a replica that waits is released too: it fills the same cache.
func (*memoryReleaser) NeedLeaderElection() bool { return false }

// Start looks again and again until ctx ends.
func (t *memoryReleaser) Start(ctx context.Context) error {
	ticker := time.NewTicker(quietFor)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if t.due(allocated()) {
				debug.FreeOSMemory()
			}
		}
	}
}

// due tells whether a busy time has ended, by how much has been allocated since the start.
func (t *memoryReleaser) due(allocated uint64) bool {
	grown := allocated - t.allocated
	t.allocated = allocated
	ended := t.busy && grown <= quietBytes
	t.busy = grown > quietBytes
	return ended
}

// allocated is how many bytes the program has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
