package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// redraw is how often a status is drawn anew at most: faster than anybody reads, and slower than a storm of changes.
const redraw = 200 * time.Millisecond

// follow shows how an ApplicationSet stands whenever that changes, until all is well or the time is over. It watches, and asks for
// nothing again. What was read before it counts where the time is over before the hub has answered.
func (o *statusOptions) follow(ctx context.Context, h *hub, key types.NamespacedName, from source, before *view.Set) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watched, changed, err := o.watched(ctx, h, key, from, stop)
	screen, last := o.newScreen(), before.State
	if len(before.Rows) == 0 {
		last = why.Waiting // for its first Application
	}
	if err != nil {
		if endsWell(ctx) {
			err = screen.show(before)
		}
		return o.end(ctx, err, last)
	}
	for {
		set, err := h.followed(ctx, watched, key, from)
		if err != nil {
			return o.end(ctx, err, last)
		}
		o.expect(set)
		if last = set.State; o.problems {
			set.Rows = view.Problems(set.Rows)
		}
		if err := screen.show(set); err != nil || last == why.OK {
			return err
		}
		if err := next(ctx, changed); err != nil {
			return o.end(ctx, err, last)
		}
	}
}

// endsWell tells whether the time is over or the user has seen enough, and nothing has failed.
func endsWell(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled)
}

// end is what a command that followed has found when it ends before all is well.
func (o *statusOptions) end(ctx context.Context, err error, last why.State) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded) && last == why.OK:
		return nil
	case errors.Is(cause, context.DeadlineExceeded):
		fmt.Fprintf(o.ErrOut, "not all is well after %s\n", o.timeout)
		return result(last)
	case errors.Is(cause, context.Canceled): // the user has seen enough
		return result(last)
	case cause != nil:
		return cause
	}
	return err
}

// next waits for a change, and then for as long as a redraw may not be.
func next(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(redraw):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// followed is how an ApplicationSet stands by what is watched.
func (h *hub) followed(ctx context.Context, c client.Reader, key types.NamespacedName, from source) (*view.Set, error) {
	var report *v1alpha1.MulticlusterApplicationSetReport
	if from.report {
		var err error
		if report, err = reading.Get(ctx, c, key, &v1alpha1.MulticlusterApplicationSetReport{}); err != nil {
			return nil, err
		}
		if report == nil { // it is gone, or is made anew
			report = &v1alpha1.MulticlusterApplicationSetReport{}
			report.Namespace, report.Name = key.Namespace, key.Name
		}
	}
	set, err := setOf(ctx, c, key, report, false)
	if err != nil {
		return nil, err
	}
	if len(set.Rows) == 0 {
		set.State = why.Waiting // for its first Application
	}
	if !from.steps {
		return set, nil
	}
	object := newApplicationSet()
	into := &object.Unstructured
	switch into, err = reading.Get(ctx, c, key, into); {
	case err != nil:
		return nil, err
	case into != nil:
		set.RollOut(object.steps())
	case from.there:
		return nil, fmt.Errorf("ApplicationSet %s was deleted", key)
	}
	return set, nil
}

// watched are the objects that tell of an ApplicationSet, kept up to date, and a channel that tells of changes. fail is told where
// they may not be watched.
func (o *statusOptions) watched(
	ctx context.Context, h *hub, key types.NamespacedName, from source, fail func(error),
) (cache.Cache, <-chan struct{}, error) {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	named := cache.ByObject{
		Namespaces: map[string]cache.Config{key.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name)}},
	}
	inNamespace := cache.ByObject{Namespaces: map[string]cache.Config{key.Namespace: {}}}
	objects := map[client.Object]cache.ByObject{}
	if from.report {
		objects[&v1alpha1.MulticlusterApplicationSetReport{}] = named
	} else {
		objects[&argocd.Application{}] = inNamespace
	}
	if from.steps {
		objects[&newApplicationSet().Unstructured] = named
	}
	expired := &refusals{}
	c, err := cache.New(config, cache.Options{
		Scheme: h.Scheme(), Mapper: h.RESTMapper(), ByObject: objects, DefaultTransform: cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			if unserved(err) || expired.again(r, err, time.Now()) {
				fail(err)
			}
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	changed := make(chan struct{}, 1)
	go func() {
		if err := c.Start(ctx); err != nil {
			fail(err)
		}
	}()
	for obj := range objects {
		informer, err := c.GetInformer(ctx, obj)
		if err != nil {
			return nil, nil, causeOf(ctx, err)
		}
		if _, err := informer.AddEventHandler(telling(changed)); err != nil {
			return nil, nil, err
		}
	}
	if !c.WaitForCacheSync(ctx) {
		return nil, nil, causeOf(ctx, errors.New("the hub does not answer"))
	}
	return c, changed, nil
}

// causeOf is why a context has ended, else the error.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// telling tells a channel of every change, once until it is taken.
func telling(changed chan<- struct{}) toolscache.ResourceEventHandler {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
	}
}

// screen shows a status again and again.
type screen struct {
	o *statusOptions

	// terminal is set where what was drawn can be drawn over; height is how many lines it has, and drawn how many were drawn.
	terminal      bool
	height, drawn int

	// last is what was said last of each Application, where lines are appended, and summary of all.
	last    map[string]string
	summary string
}

func (o *statusOptions) newScreen() *screen {
	s := &screen{o: o, last: map[string]string{}}
	if f, ok := o.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		_, height, err := term.GetSize(int(f.Fd()))
		s.terminal, s.height = err == nil, height
	}
	return s
}

// show draws a status over the one before, or appends what has changed.
func (s *screen) show(set *view.Set) error {
	if s.terminal {
		return s.draw(set)
	}
	p := &printer{to: s.o.Out}
	s.append(p, set)
	return p.err
}

// draw draws over what was drawn before: as many rows as fit, those that need attention first.
func (s *screen) draw(set *view.Set) error {
	var b strings.Builder
	const others = 9 // the headlines, the summary, and the lines between them
	p := &printer{to: &b}
	s.o.printSet(p, set, max(3, s.height-others-len(set.Waves)))
	text := b.String()
	if s.drawn > 0 {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn) + text
	}
	text = "\x1b[?7l" + text + "\x1b[?7h" // long lines end at the edge, so that one line is one line
	s.drawn = strings.Count(b.String(), "\n")
	_, err := fmt.Fprint(s.o.Out, text)
	return err
}

// append appends a line for each Application that has changed, and one for all where that has.
func (s *screen) append(p *printer, set *view.Set) {
	for i := range set.Rows {
		r := &set.Rows[i]
		line := fmt.Sprintf("%s %s on %s: %s %s %s", s.o.glyph(r.State), bounded(r.Name), bounded(r.Cluster), bounded(r.Sync), bounded(r.Health),
			bounded(s.o.because(r.Reason, r.Message)))
		if line = strings.TrimRight(line, " "); s.last[r.Name] != line {
			p.line("%s", line)
			s.last[r.Name] = line
		}
	}
	parts := []string{summary(set)}
	for _, w := range set.Waves {
		parts = append(parts, fmt.Sprintf("step %d: %d of %d healthy", w.Step, w.Healthy, w.Applications))
	}
	if text := strings.Join(parts, "; "); text != s.summary {
		p.line("%s %s", s.o.glyph(set.State), text)
		s.summary = text
	}
}
