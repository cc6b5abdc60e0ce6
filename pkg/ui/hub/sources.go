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

	// maxTokens is how many tokens of one user have a place at the same time. A further token takes the place of the one that was
	// used longest ago.
	maxTokens = 4

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

// Tokens gives each request the identity of the bearer token that comes with it. A token gets a place after the API server has
// said whose it is.
type Tokens struct {
	ctx    context.Context //nolint:containedctx // the lifetime of what is followed, which no request has
	config *rest.Config
	flags  Flags

	valid *validator

	mu      sync.Mutex
	persons map[identity]*Person
}

// NewTokens reads from the API server of config, of which nothing but the address and the certificate authority is used, until ctx ends.
func NewTokens(ctx context.Context, config *rest.Config, flags Flags) *Tokens {
	config = rest.AnonymousClientConfig(config)
	t := &Tokens{ctx: ctx, config: config, flags: flags, valid: newValidator(config), persons: map[identity]*Person{}}
	go t.expire()
	return t
}

// For implements ui.Source.
func (t *Tokens) For(r *http.Request) (ui.Hub, error) {
	token := ui.Token(r.Context())
	if token == "" {
		return nil, &ui.Refusal{Code: http.StatusUnauthorized, Message: "The request has no token."}
	}
	k := identity(sha256.Sum256([]byte(token))) // the token itself is not kept here
	if p := t.known(k); p != nil {
		return p, nil
	}
	user, err := t.valid.user(r.Context(), k, token)
	if err != nil {
		return nil, err
	}
	return t.place(k, user, token)
}

// known is the person with a token; nil for none.
func (t *Tokens) known(k identity) *Person {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.persons[k]
}

// place gives the valid token of a user a place.
func (t *Tokens) place(k identity, user, token string) (ui.Hub, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.persons[k]; p != nil {
		return p, nil
	}
	t.displace(user)
	if len(t.persons) >= maxPersons {
		return nil, &ui.Refusal{Code: http.StatusServiceUnavailable, Message: "Too many people look at this page now. Try again in some minutes."}
	}
	config := rest.CopyConfig(t.config)
	config.BearerToken = token
	p, err := newPerson(t.ctx, config, t.flags)
	if err != nil {
		return nil, err
	}
	p.used, p.user = time.Now(), user
	t.persons[k] = p
	return p, nil
}

// displace ends the token of a user that was used longest ago, if the user has as many as one may have.
func (t *Tokens) displace(user string) {
	var oldest identity
	var since time.Time
	n := 0
	for k, p := range t.persons {
		if p.user != user {
			continue
		}
		n++
		if used := p.lastUsed(); since.IsZero() || used.Before(since) {
			oldest, since = k, used
		}
	}
	if n >= maxTokens {
		t.persons[oldest].end()
		delete(t.persons, oldest)
	}
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
	for k, p := range t.persons {
		if p.over(now) {
			p.end()
			delete(t.persons, k)
		}
	}
}

// over tells whether nobody needs what was read any more.
func (p *Person) over(now time.Time) bool { return now.Sub(p.lastUsed()) > idle }

func (p *Person) lastUsed() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
