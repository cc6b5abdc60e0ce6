package hub

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/pkg/ui"
)

// The limits for checks of unknown tokens: checks for each second, waiting requests, the memory of a refused token, and
// the number of remembered tokens.
const (
	askRate    = 20
	askWaiting = 200
	refusedFor = 10 * time.Second
	refusedMax = 256
)

// identity identifies a token by its hash, without the token.
type identity [sha256.Size]byte

// validator asks the API server for the user of a token. Random tokens cause only a bounded number of requests. Known
// tokens cause no requests.
type validator struct {
	config  *rest.Config
	pace    *rate.Limiter
	waiting chan struct{}
	refused *cache.LRUExpireCache
}

func newValidator(config *rest.Config) *validator {
	return &validator{
		config: config, pace: rate.NewLimiter(askRate, askRate), waiting: make(chan struct{}, askWaiting),
		refused: cache.NewLRUExpireCache(refusedMax),
	}
}

// user returns the name of the token's user, or an error for an invalid token.
func (v *validator) user(ctx context.Context, k identity, token string) (string, error) {
	if err, ok := v.refused.Get(k); ok {
		return "", err.(error)
	}
	select {
	case v.waiting <- struct{}{}:
		defer func() { <-v.waiting }()
	default:
		return "", &ui.Refusal{Code: http.StatusTooManyRequests, Message: "Too many new sign-ins are being checked. Try again in some seconds."}
	}
	if err := v.pace.Wait(ctx); err != nil {
		return "", err
	}
	user, err := v.ask(ctx, token)
	if apierrors.IsUnauthorized(err) {
		v.refused.Add(k, err, refusedFor)
	}
	return user, err
}

// ask asks with the token itself: every user may ask for their own identity.
func (v *validator) ask(ctx context.Context, token string) (string, error) {
	config := rest.CopyConfig(v.config)
	config.BearerToken = token
	c, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	me, err := c.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return me.Status.UserInfo.Username, nil
}
