package informer

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

// again is the delay before the next request after an answer 503.
const again = time.Second

// awaited returns a ListWatch that repeats requests answered with 503. The repetition happens every second, until a
// different answer comes or the context ends.
//
// kube-apiserver forwards some APIs to a different server, for example the API of works to the server of Maestro.
// During an outage of the server, all requests fail with 503. client-go (0.37.2) then retries with a growing delay of up
// to a minute, and a cache would miss changes for up to a minute after the server is back.
func awaited(from cache.ListerWatcher) *cache.ListWatch {
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

// ask returns the first answer other than 503. At the end of the context, ask returns the last 503.
func ask[T any](ctx context.Context, o metav1.ListOptions, send func(context.Context, metav1.ListOptions) (T, error)) (T, error) {
	answer, err := send(ctx, o)
	if !apierrors.IsServiceUnavailable(err) {
		return answer, err
	}
	log, began := klog.FromContext(ctx), time.Now()
	log.Info("The API server does not serve the kind of a cache; the next try is in a second", "error", err.Error())
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
