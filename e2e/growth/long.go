package growth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// changing limits the number of parallel changes.
const changing = 50

// Churn makes changes at a rate per second, each with its number from 0 on, until over is closed. Churn returns when
// all started changes have ended.
func Churn(ctx context.Context, rate float64, over <-chan struct{}, change func(ctx context.Context, n int)) error {
	var group errgroup.Group
	group.SetLimit(changing)
	next := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer next.Stop()
	for n := 0; ; n++ {
		select {
		case <-over:
			return group.Wait()
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), group.Wait())
		case <-next.C:
			group.Go(func() error {
				change(ctx, n)
				return nil
			})
		}
	}
}

// Samples takes one sample after the other until the end of the time, and prints each sample.
func Samples(
	ctx context.Context, every time.Duration, until time.Time, say func(string, ...any),
	measure func(ctx context.Context, into map[string]float64) error,
) ([]Sample, error) {
	var out []Sample
	began, next := time.Now(), time.NewTicker(every)
	defer next.Stop()
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-next.C:
		}
		s := Sample{At: time.Since(began), Values: map[string]float64{}}
		if err := measure(ctx, s.Values); err != nil {
			return out, err
		}
		out = append(out, s)
		say("%s", s.String())
	}
	return out, nil
}

// Judge returns an error if a series has grown by more than its bound, or etcd by more than its content explains. say
// prints all growths.
func Judge(samples []Sample, warmUp time.Duration, bounds map[string]Bound, say func(string, ...any)) error {
	growths, err := Growths(samples, warmUp, bounds)
	if err != nil {
		return err
	}
	errs := []error{Explained(samples, warmUp)}
	for _, g := range growths {
		say("%s", g.String())
		if g.Exceeds() {
			errs = append(errs, fmt.Errorf("GREW %s", g.String()))
		}
	}
	say("%s", stored(samples))
	return errors.Join(errs...)
}
