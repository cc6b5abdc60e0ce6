package hub

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/ui"
)

const (
	// maxPersons is the maximum number of simultaneous identities.
	maxPersons = 64

	// maxTokens is the maximum number of simultaneous tokens of one owner. A further token replaces the least recently
	// used token.
	maxTokens = 4

	// idle is how long the reads of an identity stay in memory after the last request.
	idle = 3 * time.Minute
)

// One gives each request the same identity: the identity of a kubeconfig.
type One struct{ person *Person }

// NewOne reads with the identity of config until ctx ends.
func NewOne(ctx context.Context, config *rest.Config, flags Flags) (*One, error) {
	p, err := newPerson(ctx, config, flags)
	return &One{person: p}, err
}

// For implements ui.Source.
func (o *One) For(*http.Request) (ui.Hub, error) { return o.person, nil }

// Tokens gives each request the identity of its bearer token. A token gets a place after the API server has confirmed
// its user.
type Tokens struct {
	ctx    context.Context //nolint:containedctx // the lifetime of what is followed, which no request has
	config *rest.Config
	flags  Flags

	valid *validator

	mu      sync.Mutex
	persons map[identity]*Person
}

// NewTokens reads from the API server of config until ctx ends. Only the address and the certificate authority of
// config are used.
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
	k := identity(sha256.Sum256([]byte(token))) // the map does not keep the token itself
	if p := t.known(k); p != nil {
		return p, nil
	}
	user, err := t.valid.user(r.Context(), k, token)
	if err != nil {
		return nil, err
	}
	return t.place(k, user, token)
}

// known returns the person with a token; nil for none.
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
	owner := ownerOf(user)
	if !t.displace(owner) {
		return nil, &ui.Refusal{Code: http.StatusServiceUnavailable, Message: "Too many people look at this page now. Try again in some minutes."}
	}
	config := rest.CopyConfig(t.config)
	config.BearerToken = token
	p, err := newPerson(t.ctx, config, t.flags)
	if err != nil {
		return nil, err
	}
	p.used, p.owner = time.Now(), owner
	t.persons[k] = p
	return p, nil
}

// ownerOf returns the owner of a user's places. All ServiceAccounts of a namespace are one owner, because an editor of
// the namespace can create any number of ServiceAccounts.
func ownerOf(user string) string {
	if namespace, ok := reading.AccountNamespace(user); ok {
		return "system:serviceaccounts:" + namespace
	}
	return user
}

// displace makes room for a further place of an owner, and returns false if all places have to stay. An owner with
// maxTokens places loses a place. If no place is free, the owner with the most places loses a place, but an owner
// never gets more places than the loser keeps.
func (t *Tokens) displace(owner string) bool {
	places := map[string]int{}
	most := owner
	for _, p := range t.persons {
		places[p.owner]++
		if places[p.owner] > places[most] {
			most = p.owner
		}
	}
	switch {
	case places[owner] >= maxTokens:
		t.remove(owner)
	case len(t.persons) < maxPersons:
	case places[most] > places[owner]+1:
		t.remove(most)
	case places[owner] > 0:
		t.remove(owner)
	default:
		return false
	}
	return true
}

// remove removes the least recently used place of an owner.
func (t *Tokens) remove(owner string) {
	var oldest identity
	var since time.Time
	for k, p := range t.persons {
		if p.owner != owner {
			continue
		}
		if used := p.lastUsed(); oldest == (identity{}) || used.Before(since) {
			oldest, since = k, used
		}
	}
	t.persons[oldest].end()
	delete(t.persons, oldest)
}

// expire removes identities after a time without requests. Identities with an invalid token are removed at the next
// check.
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

// over returns whether the last request is older than idle.
func (p *Person) over(now time.Time) bool { return now.Sub(p.lastUsed()) > idle }

func (p *Person) lastUsed() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
