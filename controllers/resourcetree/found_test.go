package resourcetree

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/argoredis"
)

// namespace is Argo CD's, as the API server tells of it.
type namespace struct {
	client.Reader
	params    map[string]string
	secrets   map[string]map[string][]byte
	forbidden string
	read      int
}

func (n *namespace) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	n.read++
	if key.Name == n.forbidden {
		return apierrors.NewForbidden(schema.GroupResource{}, key.Name, nil)
	}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data = n.params
		return nil
	case *corev1.Secret:
		if data, there := n.secrets[key.Name]; there {
			o.Data = data
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func password(text string) map[string]map[string][]byte {
	return map[string]map[string][]byte{"argocd-redis": {"auth": []byte(text)}}
}

// TestAPasswordIsReadAnew: a Redis that was started anew with another password lets Towline in again.
func TestAPasswordIsReadAnew(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("first")
	n := &namespace{params: map[string]string{"redis.server": server.Addr(), "redis.db": "2"}, secrets: password("first")}
	found := &Found{Reader: n, Namespace: "argocd"}
	r := NewRedis(found)
	set := func() error { return r.Set(t.Context(), "key", "channel", nil, time.Hour) }
	if err := set(); err != nil || !server.DB(2).Exists("key") {
		t.Fatal(err)
	}
	server.Close()
	server.RequireAuth("second")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := set(); err == nil || strings.Contains(err.Error(), "first") {
		t.Fatalf("got %v", err)
	}
	n.secrets = password("second")
	found.until = time.Time{}
	if err := set(); err != nil {
		t.Fatal(err)
	}
	if n.read > 20 {
		t.Errorf("read %d objects", n.read)
	}
}

func TestWhatIsNotFound(t *testing.T) {
	for title, tc := range map[string]struct {
		namespace *namespace
		none      bool
		says      string
	}{
		"nothing is there":   {&namespace{}, true, "--argocd-redis"},
		"a Secret not read":  {&namespace{forbidden: "argocd-operator-redis-tls"}, false, "Secret argocd/argocd-operator-redis-tls"},
		"a Service not read": {&namespace{forbidden: "argocd-redis-ha-haproxy"}, false, "Service argocd/argocd-redis-ha-haproxy"},
	} {
		t.Run(title, func(t *testing.T) {
			_, err := NewRedis(&Found{Reader: tc.namespace, Namespace: "argocd"}).Plain(t.Context())
			if err == nil || errors.Is(err, argoredis.ErrNone) != tc.none || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNoRedisIsNoFailure: it is told once, counted never, and looked for again minutes later.
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
	log.is(t, "does not know what", "is found")
}

// TestEachKindOfFailureIsTold once: that Redis is found but cannot be used, and that it is not found any more.
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
	log.is(t, "does not know what", "connection refused", "does not know what", "connection refused", "answers again")
}

// told are the lines of a log.
type told struct{ lines []string }

func (l *told) into(t *testing.T) context.Context {
	return logr.NewContext(t.Context(), funcr.New(func(_, args string) { l.lines = append(l.lines, args) }, funcr.Options{}))
}

// is checks that there is a line with each of those words, in that order, and none else.
func (l *told) is(t *testing.T, words ...string) {
	t.Helper()
	if !slices.EqualFunc(l.lines, words, strings.Contains) {
		t.Errorf("got\n%s", strings.Join(l.lines, "\n"))
	}
}

// failed is how many failures are counted.
func failed(t *testing.T) float64 {
	t.Helper()
	m := &dto.Metric{}
	if err := failures.Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
