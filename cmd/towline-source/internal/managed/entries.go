package managed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/tree"
)

// The answers to a request that are no failure of Redis.
var (
	ErrAbsent  = errors.New(managedresources.Absent)
	ErrClosed  = errors.New("the hub takes no managed resources: cluster.inClusterEnabled in the ConfigMap argocd-cm is not \"false\"")
	ErrFull    = errors.New("the managed resources of this cluster are over the limit --max-managed-bytes of towline-source")
	ErrInvalid = errors.New("the body is no list of managed resources")
	ErrUnknown = errors.New("the hub has no managed resources with this digest")
)

// Grants answers which Application a work delivers to a cluster at this moment.
type Grants interface {
	Application(ctx context.Context, cluster, work string) (types.NamespacedName, bool, error)
}

// Options are the settings of Entries.
type Options struct {
	Grants Grants

	// Redis is the Redis of the hub's Argo CD, and Home the namespace of this Argo CD.
	Redis *argocache.Redis
	Home  string

	// Open reports whether entries may exist now.
	Open func() bool

	// MaxBytes is the maximum size of all entries of a cluster.
	MaxBytes int64

	Log logr.Logger
}

// Entries are the managed resources in Redis.
type Entries struct {
	Options

	sizes sizes
	queue queue
}

// New returns Entries. Run removes entries that have lost their grant.
func New(o Options) *Entries {
	return &Entries{Options: o, queue: newQueue()}
}

// mark describes an entry, written at a time. The digest is that of the agent's body. A mark with a reason stands for a
// missing entry, and the time is that of the first notice.
type mark struct {
	Cluster, Work, Digest string
	Bytes                 int64
	At                    time.Time
	Reason                managedresources.Reason `json:",omitempty"`
}

// of reports whether a cluster has sent the mark about a work.
func (m *mark) of(cluster, work string) bool {
	return m != nil && m.Cluster == cluster && m.Work == work
}

// marks is the pattern of the keys of all marks.
const (
	markBegins = "towline|managed-resources|"
	marks      = markBegins + "*"
)

func keyOfMark(app types.NamespacedName) string { return markBegins + app.String() }

// keys returns the keys of an Application's entry and of its mark. The compression may have changed since the write, so
// a removal covers both forms of the entry.
func (e *Entries) keys(app types.NamespacedName) []string {
	return []string{tree.ManagedResourcesKey(app, e.Home, true), tree.ManagedResourcesKey(app, e.Home, false), keyOfMark(app)}
}

// Put replaces the entry of the Application of a work.
func (e *Entries) Put(ctx context.Context, cluster, work string, body []byte) error {
	app, err := e.permitted(ctx, cluster, work)
	if err != nil {
		return err
	}
	plain, err := e.Redis.Plain(ctx)
	if err != nil {
		return err
	}
	entry, err := managedresources.Copy(bytes.NewReader(body), true, !plain)
	if err != nil {
		return errors.Join(ErrInvalid, err)
	}
	m := mark{Cluster: cluster, Work: work, Digest: managedresources.DigestOf(body), Bytes: int64(len(entry)), At: time.Now()}
	if !e.sizes.reserve(cluster, app, m.Bytes, e.MaxBytes) {
		return ErrFull
	}
	description, err := json.Marshal(m)
	if err != nil {
		return err
	}
	writes := map[string][]byte{tree.ManagedResourcesKey(app, e.Home, !plain): entry, keyOfMark(app): description}
	if err := e.Redis.SetAll(ctx, writes, managedresources.Lifetime); err != nil {
		return err
	}
	requests.WithLabelValues("written").Inc()
	return e.judge(ctx, app) // the grant may have ended meanwhile
}

// Renew extends the life of the entry of the Application of a work, if the agent sent the entry in a body of the digest.
func (e *Entries) Renew(ctx context.Context, cluster, work, digest string) error {
	app, err := e.permitted(ctx, cluster, work)
	if err != nil {
		return err
	}
	m, err := e.mark(ctx, app)
	if err != nil {
		return err
	}
	if !m.of(cluster, work) || m.Digest != digest {
		return ErrUnknown
	}
	plain, err := e.Redis.Plain(ctx)
	if err != nil {
		return err
	}
	for _, key := range []string{tree.ManagedResourcesKey(app, e.Home, !plain), keyOfMark(app)} {
		if there, err := e.Redis.Renew(ctx, key, managedresources.Lifetime); !there || err != nil {
			return errors.Join(err, ErrUnknown)
		}
	}
	requests.WithLabelValues("renewed").Inc()
	return e.judge(ctx, app)
}

// Remove removes the entry of the Application of a work, and notes the reason for Status; empty for no reason.
func (e *Entries) Remove(ctx context.Context, cluster, work string, reason managedresources.Reason) error {
	app, err := e.permitted(ctx, cluster, work)
	if err != nil {
		return err
	}
	before, err := e.mark(ctx, app)
	if err != nil {
		return err
	}
	if err := e.remove(ctx, app); reason == "" || err != nil {
		return err
	}
	m := mark{Cluster: cluster, Work: work, Reason: reason, At: time.Now()}
	if before.of(cluster, work) && before.Reason == reason {
		m.At = before.At
	}
	description, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := e.Redis.SetAll(ctx, map[string][]byte{keyOfMark(app): description}, managedresources.Lifetime); err != nil {
		return err
	}
	return e.judge(ctx, app) // the grant may have ended meanwhile
}

// Status returns the state of the entry of the Application of a work. The error is ErrAbsent, or an error of the hub.
func (e *Entries) Status(ctx context.Context, cluster, work string) (managedresources.Status, error) {
	app, ok, err := e.Grants.Application(ctx, cluster, work)
	switch {
	case err != nil:
		return managedresources.Status{}, err
	case !ok:
		return managedresources.Status{}, ErrAbsent
	}
	out := managedresources.Status{Application: app.String(), Reason: managedresources.ReasonClosed}
	if !e.Open() {
		return out, nil
	}
	m, there, err := e.there(ctx, app)
	switch {
	case err != nil:
		e.Log.Info("Argo CD's Redis does not answer", "error", err.Error())
		out.Reason = managedresources.ReasonRedisUnavailable
	case !m.of(cluster, work), m.Reason == "" && !there:
		out.Reason = managedresources.ReasonNotSent
	default:
		out.Reason, out.Bytes = m.Reason, m.Bytes
		if !m.At.IsZero() {
			out.Since = &metav1.Time{Time: m.At}
		}
	}
	return out, nil
}

// there returns the mark of an Application's entry, and whether the entry exists.
func (e *Entries) there(ctx context.Context, app types.NamespacedName) (*mark, bool, error) {
	m, err := e.mark(ctx, app)
	if m == nil || err != nil {
		return nil, false, err
	}
	plain, err := e.Redis.Plain(ctx)
	if err != nil {
		return nil, false, err
	}
	there, err := e.Redis.Exists(ctx, tree.ManagedResourcesKey(app, e.Home, !plain))
	return m, there, err
}

// permitted returns the Application that a work delivers to a cluster.
func (e *Entries) permitted(ctx context.Context, cluster, work string) (types.NamespacedName, error) {
	app, ok, err := e.Grants.Application(ctx, cluster, work)
	switch {
	case err != nil:
		return app, err
	case !ok:
		return app, ErrAbsent
	case !e.Open():
		return app, ErrClosed
	}
	return app, nil
}

// judge removes the entry of an Application without a grant. An entry without a mark belongs to the hub's own Argo CD.
func (e *Entries) judge(ctx context.Context, app types.NamespacedName) error {
	m, err := e.mark(ctx, app)
	if m == nil || err != nil {
		return err
	}
	if granted, err := e.permitted(ctx, m.Cluster, m.Work); err == nil && granted == app {
		return nil
	} else if err != nil && !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrClosed) {
		return err
	}
	return e.remove(ctx, app)
}

// remove removes the mark of an Application, and the entry of the mark. An entry without a mark, or beside a mark with a
// reason, belongs to the hub's own Argo CD.
func (e *Entries) remove(ctx context.Context, app types.NamespacedName) error {
	m, err := e.mark(ctx, app)
	if m == nil || err != nil {
		return err
	}
	if m.Reason != "" {
		return e.Redis.RemoveAll(ctx, keyOfMark(app))
	}
	if err := e.Redis.RemoveAll(ctx, e.keys(app)...); err != nil {
		return err
	}
	e.sizes.free(m.Cluster, app)
	requests.WithLabelValues("removed").Inc()
	return nil
}

// mark returns the mark of an Application's entry; nil for none.
func (e *Entries) mark(ctx context.Context, app types.NamespacedName) (*mark, error) {
	data, err := e.Redis.Get(ctx, keyOfMark(app))
	if data == nil || err != nil {
		return nil, err
	}
	m := &mark{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("the mark in Redis: %w", err)
	}
	return m, nil
}
