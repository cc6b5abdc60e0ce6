package main

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
)

// soon is longer than the retry delay of a watch.
const soon = 2 * time.Minute

// refusals has the time of the last "unauthorized" error of each watch, for example after the expiry of a token. A
// single error does not end the command: a credential plugin brings a new token only after a refusal of the old
// token.
type refusals struct {
	mu   sync.Mutex
	last map[*toolscache.Reflector]time.Time
}

// again reports whether the error is a second refusal of the watch soon after the first.
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
