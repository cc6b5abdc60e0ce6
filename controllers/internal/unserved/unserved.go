// Package unserved has a cache hear of objects again as soon as somebody serves them. An API that kube-apiserver hands on to another
// server, as that of works in Maestro, is away while that server is: all requests fail with 503. client-go (v0.35) asks ever more rarely
// then, after a minute only in the end. For so long nobody would hear of a change though the server is back.
package unserved

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// again is how long until somebody is asked again who has answered with 503.
const again = time.Second

// Awaited lists and watches what another ListerWatcher does. Where that is answered with 503, it asks again every second, until there is
// another answer or the context ends.
func Awaited(from cache.ListerWatcher) *cache.ListWatch {
	of := cache.ToListerWatcherWithContext(from)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return ask(ctx, o, of.ListWithContext)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return ask(ctx, o, of.WatchWithContext)
		},
	}
}

// ask returns the first answer that is not 503; at the end of the context that one.
func ask[T any](ctx context.Context, o metav1.ListOptions, send func(context.Context, metav1.ListOptions) (T, error)) (T, error) {
	answer, err := send(ctx, o)
	if !apierrors.IsServiceUnavailable(err) {
		return answer, err
	}
	log, began := klog.FromContext(ctx), time.Now()
	log.Info("Nobody serves what a cache is to hold; it is asked for every second", "error", err.Error())
	for apierrors.IsServiceUnavailable(err) {
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(again):
			answer, err = send(ctx, o)
		}
	}
	log.Info("What a cache is to hold is served again", "after", time.Since(began).Round(time.Second).String())
	return answer, err
}
