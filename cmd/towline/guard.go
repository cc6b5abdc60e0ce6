package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// The lifetimes of a granted and of a refused request, and the number of remembered requests in each cache.
const (
	guardYes     = time.Minute
	guardNo      = 10 * time.Second
	guardEntries = 256
)

// The limits of reviews by the API server for tokens without a granted request in the last guardKnown. The rates are
// reviews for each second. The bursts are reviews at once after a pause. The first pair is for all client addresses
// together, the second pair for each address.
const (
	guardKnown      = time.Hour
	guardRate       = 10
	guardBurst      = 20
	guardRateOfOne  = 1
	guardBurstOfOne = 5
)

// guard passes a request if the API server accepts the bearer token and allows the request to the token's user.
// Requests with unknown tokens cause a bounded number of reviews by the API server, and do not disturb clients with a
// known token.
//
// The filter of controller-runtime 0.25.2 (filters.WithAuthenticationAndAuthorization) does the same by way of
// k8s.io/apiserver. With this filter, the program grows from 58 to 96 MB, go.mod has 24 more modules, and the linker
// keeps uncalled functions, for 20 MiB of memory in each agent. The filter also answers an unknown token with the status
// 500 in place of 401, logs an error for each, and reviews every new token.
type guard struct {
	tokens authenticationclient.TokenReviewInterface
	rights authorizationclient.SubjectAccessReviewInterface
	clock  cache.Clock

	// granted has the end of the permission for each question. The cache keeps an entry for guardKnown, and so beyond
	// the end of the permission.
	granted *cache.LRUExpireCache

	// refused has the HTTP status for each refused question. Random tokens push only random tokens out of the cache.
	refused *cache.LRUExpireCache

	// newcomers limits the reviews of unknown tokens. addresses has a limiter for each client address.
	newcomers *rate.Limiter
	addresses *cache.LRUExpireCache
}

// newGuard returns a filter with a guard in front of a metrics server's handlers.
func newGuard(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	g, err := guardAt(clock.RealClock{}, config, httpClient)
	if err != nil {
		return nil, err
	}
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) { return g.protect(log, handler), nil }, nil
}

func guardAt(now cache.Clock, config *rest.Config, httpClient *http.Client) (*guard, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // The guard limits the reviews. A known token must not wait behind unknown tokens.
	tokens, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	rights, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	memory := func() *cache.LRUExpireCache { return cache.NewLRUExpireCacheWithClock(guardEntries, now) }
	return &guard{
		tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), clock: now,
		granted: memory(), refused: memory(),
		newcomers: rate.NewLimiter(guardRate, guardBurst), addresses: memory(),
	}, nil
}

func (g *guard) protect(log logr.Logger, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		status, err := g.answer(req)
		if err != nil {
			log.Error(err, "The API server did not say who may read metrics")
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		handler.ServeHTTP(w, req)
	})
}

// question is the cache key of a request. The key has a digest of the token instead of the token.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// answer returns the HTTP status for the request. The status of a permitted request is 200. An error of the API server
// gives the status 500 and the error.
func (g *guard) answer(req *http.Request) (int, error) {
	token, found := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !found || token == "" {
		return http.StatusUnauthorized, nil
	}
	q := question{sha256.Sum256([]byte(token)), strings.ToLower(req.Method), req.URL.Path}
	until, known := g.granted.Get(q)
	if known && g.clock.Now().Before(until.(time.Time)) {
		return http.StatusOK, nil
	}
	if status, ok := g.refused.Get(q); ok {
		return status.(int), nil
	}
	if !known && !g.admit(req.RemoteAddr) {
		return http.StatusTooManyRequests, nil
	}
	status, err := g.ask(req.Context(), token, q)
	switch {
	case err != nil:
		return http.StatusInternalServerError, err
	case status == http.StatusOK:
		g.granted.Add(q, g.clock.Now().Add(guardYes), guardKnown)
	default:
		g.granted.Remove(q)
		g.refused.Add(q, status, guardNo)
	}
	return status, nil
}

// admit tells whether the limits permit a review of an unknown token from the address.
func (g *guard) admit(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	one, ok := g.addresses.Get(host)
	if !ok {
		one = rate.NewLimiter(guardRateOfOne, guardBurstOfOne)
	}
	g.addresses.Add(host, one, guardKnown)
	now := g.clock.Now()
	return one.(*rate.Limiter).AllowN(now, 1) && g.newcomers.AllowN(now, 1)
}

// ask lets the API server review the token and the right of the token's user to make the request. The result is the HTTP
// status 200, 401 (unknown token) or 403 (missing right).
func (g *guard) ask(ctx context.Context, token string, q question) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	who, err := g.tokens.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, err
	case !who.Status.Authenticated:
		return http.StatusUnauthorized, nil
	case who.Status.User.Username == "":
		return 0, errors.New("the token is valid, but names no user")
	}
	may, err := g.rights.Create(ctx, review(&who.Status.User, q), metav1.CreateOptions{})
	switch {
	case err != nil:
		return 0, err
	case !may.Status.Allowed || may.Status.Denied:
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

func review(user *authenticationv1.UserInfo, q question) *authorizationv1.SubjectAccessReview {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: q.verb, Path: q.path},
	}}
}
