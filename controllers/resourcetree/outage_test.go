package resourcetree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	dto "github.com/prometheus/client_model/go"

	"github.com/towline-io/towline/pkg/argoredis"
)

// TestNoRedisIsNoFailure: a missing Redis is logged once, is not counted as a failure, and is looked for again later.
func TestNoRedisIsNoFailure(t *testing.T) {
	o, log, before := &outage{}, &told{}, failed(t)
	_, none := argoredis.Find(argoredis.Facts{Namespace: "argocd"})
	for range 2 {
		if wait := o.failed(log.into(t), time.Now(), none); wait < absence/2 || wait > 2*absence+time.Second {
			t.Errorf("looked for after %s", wait)
		}
	}
	if counted := failed(t) - before; counted != 0 {
		t.Errorf("counted %v times", counted)
	}
	o.ended(log.into(t))
	log.is(t, "does not know the resources", "is found")
}

// TestEachKindOfFailureIsTold: a missing Redis and an unusable Redis are each logged once at every change between the
// two.
func TestEachKindOfFailureIsTold(t *testing.T) {
	o, log, before := &outage{}, &told{}, failed(t)
	_, none := argoredis.Find(argoredis.Facts{Namespace: "argocd"})
	refused := errors.New("connection refused")
	for _, err := range []error{none, refused, refused, none, none, refused} {
		o.failed(log.into(t), time.Now(), err)
	}
	o.ended(log.into(t))
	o.ended(log.into(t))
	if counted := failed(t) - before; counted != 3 {
		t.Errorf("counted %v times", counted)
	}
	log.is(t, "does not know the resources", "connection refused", "does not know the resources", "connection refused", "answers again")
}

// told holds the lines of a log.
type told struct{ lines []string }

func (l *told) into(t *testing.T) context.Context {
	return logr.NewContext(t.Context(), funcr.New(func(_, args string) { l.lines = append(l.lines, args) }, funcr.Options{}))
}

// is checks that the log has exactly a line with each of the words, in the given order.
func (l *told) is(t *testing.T, words ...string) {
	t.Helper()
	if !slices.EqualFunc(l.lines, words, strings.Contains) {
		t.Errorf("got\n%s", strings.Join(l.lines, "\n"))
	}
}

// failed returns the number of counted failures.
func failed(t *testing.T) float64 {
	t.Helper()
	m := &dto.Metric{}
	if err := failures.Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
