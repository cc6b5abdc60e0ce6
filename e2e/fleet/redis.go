package fleet

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A redisServer is an in-process Redis for an Argo CD.
type redisServer struct {
	server *miniredis.Miniredis
	done   chan struct{}
	once   sync.Once
}

func startRedis(address string) (*redisServer, error) {
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(address); err != nil {
		return nil, fmt.Errorf("redis on %s: %w", address, err)
	}
	r := &redisServer{server: server, done: make(chan struct{})}
	go r.age()
	return r, nil
}

// age makes entries expire, because miniredis has no clock.
func (r *redisServer) age() {
	const step = time.Second
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-ticker.C:
			r.server.FastForward(step)
		}
	}
}

func (r *redisServer) stop() {
	r.once.Do(func() {
		close(r.done)
		r.server.Close()
	})
}
