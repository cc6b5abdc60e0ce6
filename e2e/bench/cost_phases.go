package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// costParallel is the number of parallel requests of the benchmark.
	costParallel = 8

	// costChanges is the number of changes in the phase change, made one at a time.
	costChanges = 10

	// costCalm is how long the works on the hub must be unchanged before the next phase.
	costCalm = 15 * time.Second
)

func (c *agentCost) app(i int) string { return fmt.Sprintf("%s-%d", c.kind.name, i) }

// there returns the API path of an Application on its cluster.
func (c *agentCost) there(i int) string { return applicationsPath + "/" + c.app(i) }

// deliver creates all Applications, and waits until the cluster has all of them and the agent has reported all of them
// as available.
func (c *agentCost) deliver(ctx context.Context) error {
	began := time.Now()
	err := each(ctx, c.Number, costParallel, func(ctx context.Context, i int) error {
		return c.hub.create(ctx, c.kind.path, c.kind.object(c.app(i)))
	})
	if err != nil {
		return err
	}
	at, err := c.seen.come.wait(ctx, c.Number)
	if err != nil {
		return err
	}
	c.set("deliver.seconds", at.Sub(began).Seconds())
	at, err = c.seen.available.wait(ctx, c.Number)
	c.set("deliver.available", at.Sub(began).Seconds())
	return err
}

// first writes a first status of each Application on the cluster.
func (c *agentCost) first(ctx context.Context) error {
	if err := c.calm(ctx); err != nil {
		return err
	}
	if err := c.turnAll(ctx, costParallel); err != nil {
		return err
	}
	c.seen.changes.take()
	return c.calm(ctx)
}

// change changes Applications one after the other.
func (c *agentCost) change(ctx context.Context) error {
	for i := range costChanges {
		if err := c.turn(ctx, i%c.Number); err != nil {
			return err
		}
		if err := c.seen.changes.waitFor(ctx, i%c.Number); err != nil {
			return err
		}
	}
	c.delays("change")
	return nil
}

// row changes all Applications one after the other, without waiting for the hub in between.
func (c *agentCost) row(ctx context.Context) error {
	if err := c.turnAll(ctx, 1); err != nil {
		return err
	}
	c.delays("row")
	return c.calm(ctx)
}

// burst changes all Applications at the same time.
func (c *agentCost) burst(ctx context.Context) error {
	if err := c.turnAll(ctx, costParallel); err != nil {
		return err
	}
	c.delays("burst")
	return c.calm(ctx)
}

// turnAll writes a new status of each Application by the given number of parallel requests, and waits until the hub
// shows all of them.
func (c *agentCost) turnAll(ctx context.Context, parallel int) error {
	if err := each(ctx, c.Number, parallel, c.turn); err != nil {
		return err
	}
	return c.seen.changes.wait(ctx)
}

// turn writes a new status of an Application on the cluster.
func (c *agentCost) turn(ctx context.Context, i int) error {
	c.seen.mu.Lock()
	c.number++
	number := c.number
	c.seen.mu.Unlock()
	c.seen.changes.sent(i, number, time.Now())
	return c.cluster.patch(ctx, c.there(i), object{"status": statusOf(number)})
}

func statusOf(number int) object {
	began := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
	source := object{"repoURL": repository, "path": "guestbook", "targetRevision": "HEAD"}
	return object{
		"health": object{"status": "Healthy", "lastTransitionTime": began},
		"sync": object{
			"status": "Synced", "revision": revision(number),
			"comparedTo": object{"source": source, "destination": object{"server": "https://kubernetes.default.svc", "namespace": "guestbook"}},
		},
		"reconciledAt": now(), "sourceType": "Directory",
		"resources": []object{
			{"version": "v1", "kind": "Service", "namespace": "guestbook", "name": "guestbook-ui", "status": "Synced", "health": object{"status": "Healthy"}},
			{
				"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "guestbook", "name": "guestbook-ui", "status": "Synced",
				"health": object{"status": "Healthy"},
			},
		},
		"operationState": object{
			"phase": "Succeeded", "startedAt": began, "finishedAt": began, "message": "successfully synced (all tasks run)",
			"operation":  object{"sync": object{"revision": revision(number)}, "initiatedBy": object{"automated": true}},
			"syncResult": object{"revision": revision(number), "source": source},
		},
	}
}

// compare writes a new comparison time of all Applications on the cluster, without a new result.
func (c *agentCost) compare(ctx context.Context) error {
	err := each(ctx, c.Number, costParallel, func(ctx context.Context, i int) error {
		return c.cluster.patch(ctx, c.there(i), object{"status": object{"reconciledAt": now()}})
	})
	if err != nil {
		return err
	}
	return c.calm(ctx)
}

// rest waits without any change.
func (c *agentCost) rest(ctx context.Context) error {
	select {
	case <-time.After(c.Rest):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// delete deletes all Applications, and waits until all Applications and works are gone.
func (c *agentCost) delete(ctx context.Context) error {
	began := time.Now()
	err := each(ctx, c.Number, costParallel, func(ctx context.Context, i int) error {
		return c.hub.remove(ctx, c.kind.path+"/"+c.app(i))
	})
	if err != nil {
		return err
	}
	at, err := c.seen.gone.wait(ctx, c.Number)
	if err != nil {
		return err
	}
	c.set("delete.seconds", at.Sub(began).Seconds())
	at, err = c.seen.ended.wait(ctx, c.Number)
	c.set("delete.works", at.Sub(began).Seconds())
	return err
}

// calm waits until the works have not changed for costCalm.
func (c *agentCost) calm(ctx context.Context) error {
	for {
		left := costCalm - time.Since(c.seen.lastChange())
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(left):
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *agentCost) delays(name string) {
	sorted := c.seen.changes.take()
	slices.Sort(sorted)
	c.result.delays(c.kind.name+"."+name, sorted)
}
