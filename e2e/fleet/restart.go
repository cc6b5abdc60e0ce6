package fleet

import (
	"context"
	"time"
)

// watch restarts a process after an unrequested end.
func (p *process) watch(ctx context.Context) {
	if !p.spec.restart {
		return
	}
	// The start's context ends before the watch. The watch ends with stop.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	p.cancel = cancel
	p.mu.Unlock()
	go func() {
		backoff := firstBackoff
		for {
			began := time.Now()
			select {
			case <-ctx.Done():
				return
			case <-p.exitedChan():
			}
			if time.Since(began) > time.Minute {
				backoff = firstBackoff
			}
			if ctx.Err() != nil {
				return
			}
			p.say("%s ended (%v) and is started again; its log is %s", p.spec.title(), p.exitErr(), p.spec.log)
			if !p.relaunch(ctx, backoff) {
				return
			}
			backoff = min(2*backoff, lastBackoff)
		}
	}()
}

func (p *process) relaunch(ctx context.Context, backoff time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(backoff):
	}
	p.op.Lock()
	defer p.op.Unlock()
	if ctx.Err() != nil {
		return false
	}
	p.mu.Lock()
	p.restarts++
	p.mu.Unlock()
	return p.launch() == nil
}
