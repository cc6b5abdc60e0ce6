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

// redraw is the minimum time between two drawings of a status. A reader is slower, and a storm of changes is faster.
const redraw = 200 * time.Millisecond

// follow shows the state of an ApplicationSet after each change, until all Applications are well or the time is over.
// It watches, without repeated reads. If the time is over before the first answer, the state from before counts.
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
		last = why.Waiting // wait for the first Application
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

// endsWell reports whether the time is over or the user has interrupted, without a failure.
func endsWell(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled)
}

// end returns the result of a follow that ended before all Applications were well.
func (o *statusOptions) end(ctx context.Context, err error, last why.State) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.DeadlineExceeded) && last == why.OK:
		return nil
	case errors.Is(cause, context.DeadlineExceeded):
		fmt.Fprintf(o.ErrOut, "not all is well after %s\n", o.timeout)
		return result(last)
	case errors.Is(cause, context.Canceled): // the user has interrupted
		return result(last)
	case cause != nil:
		return cause
	}
	return err
}

// next waits for a change, and then for the redraw time.
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

// followed returns the state of an ApplicationSet from the watched objects.
func (h *hub) followed(ctx context.Context, c client.Reader, key types.NamespacedName, from source) (*view.Set, error) {
	var report *v1alpha1.MulticlusterApplicationSetReport
	if from.report {
		var err error
		if report, err = reading.Get(ctx, c, key, &v1alpha1.MulticlusterApplicationSetReport{}); err != nil {
			return nil, err
		}
		if report == nil { // the report was deleted, and may come back
			report = &v1alpha1.MulticlusterApplicationSetReport{}
			report.Namespace, report.Name = key.Namespace, key.Name
		}
	}
	set, err := setOf(ctx, c, key, report, false)
	if err != nil {
		return nil, err
	}
	if len(set.Rows) == 0 {
		set.State = why.Waiting // wait for the first Application
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

// watched returns a cache of the ApplicationSet's objects, and a channel with a message after changes. It calls fail
// if the user may not watch the objects.
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

// causeOf returns the cause of an ended context, or else the error.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// telling sends a message for each change, unless an unread message waits in the channel.
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

// screen prints a status repeatedly.
type screen struct {
	o *statusOptions

	// terminal is set if the output can be overwritten. height is the number of lines of the terminal. drawn is the
	// number of lines of the last drawing.
	terminal      bool
	height, drawn int

	// last has the last printed line of each Application, for output without a terminal. summary is the last summary.
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

// show overwrites the last status, or appends the changes.
func (s *screen) show(set *view.Set) error {
	if s.terminal {
		return s.draw(set)
	}
	p := &printer{to: s.o.Out}
	s.append(p, set)
	return p.err
}

// draw overwrites the last drawing. It shows as many rows as fit, with the rows that need attention first.
func (s *screen) draw(set *view.Set) error {
	var b strings.Builder
	const others = 9 // the headlines, the summary, and the empty lines
	p := &printer{to: &b}
	s.o.printSet(p, set, max(3, s.height-others-len(set.Waves)))
	text := b.String()
	if s.drawn > 0 {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn) + text
	}
	text = "\x1b[?7l" + text + "\x1b[?7h" // no line wrap, so each line takes one line of the terminal
	s.drawn = strings.Count(b.String(), "\n")
	_, err := fmt.Fprint(s.o.Out, text)
	return err
}

// append prints a line for each changed Application, and a new summary after a change.
func (s *screen) append(p *printer, set *view.Set) {
	for i := range set.Rows {
		r := &set.Rows[i]
		line := fmt.Sprintf("%s %s on %s: %s %s %s", s.o.glyph(r.State), bounded(r.Name), bounded(r.Cluster), bounded(r.Sync), bounded(r.Health),
			bounded(s.o.problem(r.Reason, r.Message)))
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
