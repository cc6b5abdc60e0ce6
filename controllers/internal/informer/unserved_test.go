package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"
)

// TestAwaited: after an outage, a list or watch gets the answer within a second. An error other than 503 is returned at
// once. No request outlasts its context.
func TestAwaited(t *testing.T) {
	away, other := apierrors.NewServiceUnavailable("nobody leads"), errors.New("other")
	for title, tc := range map[string]struct {
		away  time.Duration // duration of the outage
		then  error
		ends  time.Duration // time until the context ends
		took  time.Duration
		want  error
		asked int
	}{
		"somebody serves":                  {ends: time.Hour, asked: 1},
		"somebody serves again":            {away: 90 * time.Second, ends: time.Hour, took: 90 * time.Second, asked: 91},
		"it is refused for another reason": {then: other, ends: time.Hour, want: other, asked: 1},
		"… once somebody serves":           {away: 1500 * time.Millisecond, then: other, ends: time.Hour, took: 2 * time.Second, want: other, asked: 3},
		"the process ends while nobody is": {away: time.Hour, ends: 2500 * time.Millisecond, took: 2500 * time.Millisecond, want: away, asked: 3},
	} {
		for verb, do := range map[string]func(*cache.ListWatch, context.Context) error{
			"list": func(lw *cache.ListWatch, ctx context.Context) error {
				_, err := lw.ListWithContext(ctx, metav1.ListOptions{})
				return err
			},
			"watch": func(lw *cache.ListWatch, ctx context.Context) error {
				_, err := lw.WatchWithContext(ctx, metav1.ListOptions{})
				return err
			},
		} {
			t.Run(title+", "+verb, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began, asked := time.Now(), 0
					answer := func() error {
						asked++
						if time.Since(began) < tc.away {
							return away
						}
						return tc.then
					}
					ctx, cancel := context.WithTimeout(t.Context(), tc.ends)
					defer cancel()
					err := do(awaited(&cache.ListWatch{
						ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
							return &workv1.ManifestWorkList{}, answer()
						},
						WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
							return watch.NewEmptyWatch(), answer()
						},
					}), ctx)
					if took := time.Since(began); took != tc.took || !errors.Is(err, tc.want) || asked != tc.asked {
						t.Errorf("asked %d times in %s: %v", asked, took, err)
					}
				})
			})
		}
	}
}
