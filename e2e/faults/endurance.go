package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/e2e/growth"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
)

// Names of the replicas by their role during the measurement.
const (
	leader  = "leader"
	standby = "standby"
)

// Endurance runs two replicas of Towline for a long time, with a population of Applications that change all the time.
type Endurance struct {
	*Failover

	// Every is the interval between two samples.
	Every time.Duration

	population []*actor
}

// NewEndurance starts two replicas as in the Deployment, with metrics and profiles.
func NewEndurance(ctx context.Context, w *World, binary string, parallel int, say func(string, ...any)) (*Endurance, error) {
	o := towline.Options{Binary: binary, Args: []string{"--metrics-secure=false"}, Profiles: true}
	f, err := NewFailover(ctx, w, o, parallel, say)
	return &Endurance{Failover: f, Every: time.Minute}, err
}

// creating is the number of Applications that Populate creates in parallel.
const creating = 50

// Populate creates Applications, half of them on each cluster, and syncs each Application once. Afterwards the
// Applications have their final size.
func (e *Endurance) Populate(ctx context.Context, count int) error {
	e.population = make([]*actor, count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creating)
	for i := range e.population {
		a := &actor{world: e.World, id: id(fmt.Sprint("endurance/", i), e.attempt), remembered: map[string]types.UID{}}
		e.population[i] = a
		at := at(i)
		group.Go(func() error {
			if err := e.patient(ctx, a, steps(made(at), remember(at), patch(operation), ended)); err != nil {
				return fmt.Errorf("%s on %s: %w", a.id, at, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func made(on string) Step { return steps(create(annotation(apis.AnnotationCluster, on)), shows(on)) }

// at returns the cluster of an Application of the population.
func at(i int) string { return []string{first, second}[i%2] }

// patient performs a step with the time limit of a point.
func (e *Endurance) patient(ctx context.Context, a *actor, do Step) error {
	ctx, cancel := context.WithTimeout(ctx, e.Patience)
	defer cancel()
	return do(ctx, a)
}

// Run changes the population at a rate in changes per second, plays flows in parallel, and takes samples until the end
// of the time. tell gets the result of each change and each flow.
func (e *Endurance) Run(ctx context.Context, rate float64, until time.Time, tell func(Churned)) (samples []growth.Sample, err error) {
	over := make(chan struct{})
	tell = oneAtATime(tell)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.churnAll(ctx, over, tell) })
	group.Go(func() error { return e.changeAll(ctx, rate, over, tell) })
	group.Go(func() error {
		defer close(over)
		samples, err = e.sample(ctx, until)
		return err
	})
	err = group.Wait()
	return samples, err
}

// changeAll changes the Applications of the population one after the other, at a rate in changes per second.
func (e *Endurance) changeAll(ctx context.Context, rate float64, over <-chan struct{}, tell func(Churned)) error {
	return growth.Churn(ctx, rate, over, func(ctx context.Context, n int) { tell(e.changeOne(ctx, n)) })
}

// changeOne changes or syncs an Application, and checks that its workload was not replaced.
func (e *Endurance) changeOne(ctx context.Context, n int) Churned {
	i := n % len(e.population)
	a, round := e.population[i], n/len(e.population)
	what, do := "change", steps(patch(fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, 1+round%9)), shows(at(i)))
	if (i+round)%3 == 0 {
		what, do = "operation", steps(patch(operation), ended)
	}
	err := e.patient(ctx, a, steps(do, stayed(at(i), applications, workloads)))
	if err != nil {
		err = fmt.Errorf("%s of %s on %s: %w", what, a.id, at(i), err)
	}
	return Churned{Flow: "population: " + what, Err: err}
}

// sample takes one sample after the other until the end of the time.
func (e *Endurance) sample(ctx context.Context, until time.Time) ([]growth.Sample, error) {
	led, _ := e.ledger.now()
	out, err := growth.Samples(ctx, e.Every, until, e.Say, func(ctx context.Context, into map[string]float64) error {
		return errors.Join(e.measureAll(ctx, led.replica, into), e.World.measureStore(ctx, into))
	})
	if err != nil {
		return out, err
	}
	if leads, _ := e.ledger.now(); leads.identity != led.identity {
		return out, fmt.Errorf("%s led at first, and %s in the end", led.identity, leads.identity)
	}
	return out, nil
}

func (e *Endurance) measureAll(ctx context.Context, leads string, into map[string]float64) error {
	for name, r := range e.replicas {
		as := standby
		if name == leads {
			as = leader
		}
		if err := r.measure(ctx, into, as); err != nil {
			return fmt.Errorf("the %s: %w", as, err)
		}
	}
	return nil
}

// Traffic returns the replicas' requests to the API server, and their open watches.
func (e *Endurance) Traffic() map[string]map[string]int {
	out := map[string]map[string]int{}
	for name, r := range e.replicas {
		made, open := r.proxy.traffic.now()
		out[name+" made"], out[name+" watches"] = made, open
	}
	return out
}
