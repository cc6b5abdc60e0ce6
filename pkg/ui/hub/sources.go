package hub

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/pkg/ui"
)

const (
	// maxPersons is how many identities are served at the same time.
	maxPersons = 64

	// idle is how long what was read for an identity is kept after the last request.
	idle = 3 * time.Minute
)

// One gives each request the same identity: that of a kubeconfig.
type One struct{ person *Person }

// NewOne reads with the identity of config until ctx ends.
func NewOne(ctx context.Context, config *rest.Config, flags Flags) (*One, error) {
	p, err := newPerson(ctx, config, flags)
	return &One{person: p}, err
}

// For implements ui.Source.
func (o *One) For(*http.Request) (ui.Hub, error) { return o.person, nil }

// Tokens gives each request the identity of the bearer token that comes with it.
type Tokens struct {
	ctx    context.Context //nolint:containedctx // the lifetime of what is followed, which no request has
	config *rest.Config
	flags  Flags

	mu      sync.Mutex
	persons map[[sha256.Size]byte]*Person
}

// NewTokens reads from the API server of config, of which nothing but the address and the certificate authority is used, until ctx ends.
func NewTokens(ctx context.Context, config *rest.Config, flags Flags) *Tokens {
	t := &Tokens{ctx: ctx, config: rest.AnonymousClientConfig(config), flags: flags, persons: map[[sha256.Size]byte]*Person{}}
	go t.expire()
	return t
}

// For implements ui.Source.
func (t *Tokens) For(r *http.Request) (ui.Hub, error) {
	token := ui.Token(r.Context())
	if token == "" {
		return nil, &ui.Refusal{Code: http.StatusUnauthorized, Message: "The request has no token."}
	}
	key := sha256.Sum256([]byte(token)) // the token itself is not kept here
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.persons[key]; p != nil {
		return p, nil
	}
	if len(t.persons) >= maxPersons {
		return nil, &ui.Refusal{Code: http.StatusServiceUnavailable, Message: "Too many people look at this page now. Try again in some minutes."}
	}
	config := rest.CopyConfig(t.config)
	config.BearerToken = token
	p, err := newPerson(t.ctx, config, t.flags) //nolint:contextcheck // it outlives the request
	if err != nil {
		return nil, err
	}
	p.used = time.Now()
	t.persons[key] = p
	return p, nil
}

// expire lets go of what nobody has asked for lately, and at once of tokens that are not valid.
func (t *Tokens) expire() {
	tick := time.NewTicker(idle / 12)
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case now := <-tick.C:
			t.drop(now)
		}
	}
}

func (t *Tokens) drop(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, p := range t.persons {
		if p.over(now) {
			p.end()
			delete(t.persons, key)
		}
	}
}

// over tells whether nobody needs what was read any more.
func (p *Person) over(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Sub(p.used) > idle
}
