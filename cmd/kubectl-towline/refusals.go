package main

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

// soon is longer than a watch waits before it asks again.
const soon = 2 * time.Minute

// refusals are when watches were last told that nobody knows their user, as where a token has expired. Once is not the end: a plugin for
// credentials brings a new token only after the old one was refused.
type refusals struct {
	mu   sync.Mutex
	last map[*toolscache.Reflector]time.Time
}

// again tells whether a watch was refused a second time soon after the first.
func (r *refusals) again(of *toolscache.Reflector, err error, now time.Time) bool {
	if !apierrors.IsUnauthorized(err) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before, refused := r.last[of]
	if r.last == nil {
		r.last = map[*toolscache.Reflector]time.Time{}
	}
	r.last[of] = now
	return refused && now.Sub(before) < soon
}
