package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/towline-io/towline/e2e/towline"
)

// Ending is how a leader stops leading.
type Ending string

// Ways in which a leader stops.
const (
	// HandOver stops the process gracefully, and the process releases the Lease. Crash kills the process, and the next
	// process of the pod starts after the other replica leads. OutOfMemory kills the process, and the kubelet starts the
	// next process of the pod at once.
	HandOver    Ending = "hand-over"
	Crash       Ending = "crash"
	OutOfMemory Ending = "out-of-memory"

	// Frozen stops the process with SIGSTOP until a new leader exists, and then continues it. CutOff separates the
	// process from the API server until then.
	Frozen Ending = "frozen"
	CutOff Ending = "cut-off"
)

// Endings are all endings, with the limit of the time until a new leader exists.
var Endings = map[Ending]time.Duration{
	HandOver: 3 * time.Second, OutOfMemory: 5 * time.Second,
	Crash: leaseDuration + 2*time.Second, Frozen: leaseDuration + 2*time.Second, CutOff: leaseDuration + 2*time.Second,
}

// churned are the flows during the endings: changes, operations, moves and deletions.
var churned = []string{
	"create", "change", "change-twice", "operation", "operations", "move", "release", "pause", "delete", "delete-changed", "again", "withdraw",
}

const (
	// takeover limits the wait for a new leader before the tool gives up.
	takeover = time.Minute

	// between limits the time from a leader's start to its ending. Each ending hits a different moment of the renewal.
	between = 4 * time.Second
)

// A replica is a replica of Towline with its own proxy to the hub's API server.
type replica struct {
	*towline.Towline

	proxy *Proxy
}

// Failover runs two replicas of Towline, and stops the leader.
type Failover struct {
	*Gate

	replicas map[string]*replica
	ledger   *ledger
}

// A Takeover is the measurement of a change of the leader.
type Takeover struct {
	Ending Ending

	// Led is the time until the new leader had the Lease, and Worked the time until its first write for an Application.
	Led, Worked time.Duration
}

// NewFailover starts two replicas as in the Deployment, with additional options.
func NewFailover(ctx context.Context, w *World, o towline.Options, parallel int, say func(string, ...any)) (*Failover, error) {
	g, err := newGate(w, parallel, say)
	if err != nil {
		return nil, err
	}
	f := &Failover{Gate: g, replicas: map[string]*replica{}, ledger: &ledger{}}
	for _, name := range []string{"one", "other"} {
		p := g.Proxy
		if len(f.replicas) > 0 {
			if p, err = NewProxy(w.Fleet.Hub.RESTConfig()); err != nil {
				return nil, err
			}
			p.scripts = g.Proxy.scripts
		}
		p.replica, p.ledger = name, f.ledger
		t, err := start(ctx, w.Fleet, p, o)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.replicas[name] = &replica{t, p}
	}
	return f, nil
}

// Close stops both replicas.
func (f *Failover) Close() {
	for _, r := range f.replicas {
		r.proxy.cutOff(false)
		_ = syscall.Kill(r.PID(), syscall.SIGCONT) // the process may run, or have ended
		r.Stop()
		r.proxy.Close()
	}
}

// stopLeader stops the leader, waits until the new leader works, and restarts the stopped replica.
func (f *Failover) stopLeader(ctx context.Context, how Ending) (Takeover, error) {
	current, before := f.ledger.now()
	r := f.replicas[current.replica]
	if r == nil {
		return Takeover{}, errors.New("no replica leads")
	}
	began := time.Now()
	var group errgroup.Group
	if err := f.strike(ctx, r, how, &group); err != nil {
		return Takeover{}, err
	}
	next, err := f.successor(ctx, before+1)
	if err != nil {
		return Takeover{}, fmt.Errorf("%s of %s: %w", how, current.replica, err)
	}
	if err := errors.Join(f.recover(ctx, r, how), group.Wait()); err != nil {
		return Takeover{}, fmt.Errorf("%s of %s: %w", how, current.replica, err)
	}
	return Takeover{how, next.took.Sub(began), next.wrote.Sub(began)}, nil
}

// strike applies an ending to a leader.
func (f *Failover) strike(ctx context.Context, r *replica, how Ending, group *errgroup.Group) error {
	switch how {
	case Crash:
		return r.Kill()
	case OutOfMemory:
		if err := r.Kill(); err != nil {
			return err
		}
		f.ledger.ended(r.proxy.replica)
		group.Go(func() error { return r.Restart(ctx) })
	case Frozen:
		return syscall.Kill(r.PID(), syscall.SIGSTOP)
	case CutOff:
		r.proxy.cutOff(true)
	case HandOver:
		group.Go(func() error {
			r.Stop()
			return nil
		})
	}
	return nil
}

// successor waits for the next term, and for its first write.
func (f *Failover) successor(ctx context.Context, n int) (term, error) {
	var now term
	err := wait.PollUntilContextTimeout(ctx, look/5, takeover, true, func(context.Context) (bool, error) {
		current, before := f.ledger.now()
		now = current
		return before >= n && !current.wrote.IsZero(), nil
	})
	if err != nil {
		return now, fmt.Errorf("within %s no other replica leads and writes", takeover)
	}
	return now, nil
}

// recover restarts a former leader. A live process must end itself when it learns of the loss of the Lease, and its
// kubelet would start it again.
func (f *Failover) recover(ctx context.Context, r *replica, how Ending) error {
	if how == OutOfMemory { // strike has started the next process of the pod
		return nil
	}
	if how == Frozen {
		if err := syscall.Kill(r.PID(), syscall.SIGCONT); err != nil {
			return err
		}
	}
	select {
	case <-r.Exited():
	case <-time.After(takeover):
		return errors.New("it does not end, but does not lead any more")
	case <-ctx.Done():
		return ctx.Err()
	}
	r.proxy.cutOff(false)
	r.Stop() // ends the bookkeeping of the process
	return r.Restart(ctx)
}

// A Churned flow is the result of a flow during changes of the leader.
type Churned struct {
	Flow string
	Err  error

	// Again is the number of operations that have run more than once. Restarted is the number of workloads that were
	// replaced although they had to stay.
	Again, Restarted int
}

// Run stops leaders in the given ways, one after the other, while flows run all the time. Each flow must end as with a
// permanent leader.
func (f *Failover) Run(ctx context.Context, endings []Ending, random *rand.Rand, tell func(Churned)) ([]Takeover, error) {
	over := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.churnAll(ctx, over, oneAtATime(tell)) })
	var measured []Takeover
	group.Go(func() error {
		defer close(over)
		for i, how := range endings {
			if isOver(f.Until) {
				f.Say("the time is over, %d of %d are left", len(endings)-i, len(endings))
				return nil
			}
			select {
			case <-time.After(time.Duration(random.Int63n(int64(between)))):
			case <-ctx.Done():
				return ctx.Err()
			}
			took, err := f.stopLeader(ctx, how)
			if err != nil {
				return err
			}
			measured = append(measured, took)
			f.Say("%d of %d: %s, another leads after %.1f s and works after %.1f s", i+1, len(endings), how, took.Led.Seconds(), took.Worked.Seconds())
		}
		return nil
	})
	err := group.Wait()
	return measured, err
}

// churnAll plays flows, several in parallel, until over is closed. Parallel calls of tell are possible.
func (f *Failover) churnAll(ctx context.Context, over <-chan struct{}, tell func(Churned)) error {
	group, ctx := errgroup.WithContext(ctx)
	for worker := range f.Parallel {
		group.Go(func() error {
			for n := 0; ; n++ {
				select {
				case <-over:
					return ctx.Err()
				default:
				}
				tell(f.churn(ctx, churned[(worker+n)%len(churned)], fmt.Sprint(worker, "/", n)))
			}
		})
	}
	return group.Wait()
}

// churn plays a flow once.
func (f *Failover) churn(ctx context.Context, name, run string) Churned {
	want := f.references[name]
	if want == nil {
		return Churned{Flow: name, Err: errors.New("it is not known how it ends")}
	}
	end, writes, err := f.play(ctx, f.flows[name], id(name+"/failover/"+run, f.attempt), nil, want.End, quiet)
	if err != nil {
		err = fmt.Errorf("%s, writes %v: %w", name, writes, err)
	}
	if end == nil { // the flow has not come to its end
		return Churned{Flow: name, Err: err}
	}
	return Churned{name, err, more(want.End, end), lost(want.End, end)}
}

// more returns the number of clusters with more operations than without a fault.
func more(want, end State) (out int) {
	for place, count := range end {
		if strings.HasSuffix(place, ": operations") && count > want[place] {
			out++
		}
	}
	return out
}

// lost returns the number of workloads that had to stay and were replaced.
func lost(want, end State) (out int) {
	const kept = `"kept": true`
	for place, was := range want {
		is := end[place]
		if strings.Contains(place, workloads.Kind) && strings.Contains(was, kept) && !strings.Contains(is, kept) {
			out++
		}
	}
	return out
}

// quantile returns the duration at the share of the sorted durations, for example the median for 0.5.
func quantile(of []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
