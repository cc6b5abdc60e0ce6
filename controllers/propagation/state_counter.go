package propagation

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/managedcluster"
)

var (
	applicationsDesc = prometheus.NewDesc("towline_applications",
		"Applications for pull by namespace and state. The label reason has the cause of a blocked Application, and is empty for all further states.",
		[]string{"namespace", "state", "reason"}, nil)

	oldestDesc = prometheus.NewDesc("towline_application_oldest_seconds",
		"Seconds in a waiting state of the longest-waiting Application of a namespace, by state.",
		[]string{"namespace", "state"}, nil)

	lastHeardDesc = prometheus.NewDesc("towline_cluster_last_heard_timestamp_seconds",
		"Unix time at which a cluster with Applications was last known to be available. "+
			"The value is the current time while the cluster is available, and 0 for a cluster that was never available.",
		[]string{"cluster"}, nil)
)

// stateCounter has the state of each Application, and counts the Applications by state. A reconcile changes only the
// entry of one Application. The zero value has no Application. No metric series is for a single Application: the number
// of series depends on the namespaces, on the states, and on the clusters with Applications.
type stateCounter struct {
	mu       sync.Mutex
	apps     map[types.NamespacedName]countedApp
	counts   map[group]int
	clusters map[string]*heard
}

// countedApp is the counted state of an Application, and the cluster of the Application; empty for none.
type countedApp struct {
	appState
	cluster string
}

// group is the key of a count: Applications of the same namespace, state and reason.
type group struct {
	namespace string
	state     state
	reason    string
}

// heard is the availability of a cluster, and the number of Applications there.
type heard struct {
	applications int
	available    bool
	since        int64 // Unix time in seconds of the last change of available; 0 for unknown
}

// counted is the stateCounter of the running controller, the source of the metrics.
var counted atomic.Pointer[stateCounter]

// set counts an Application in its current state. cluster is nil if the Application has no cluster.
func (m *stateCounter) set(app types.NamespacedName, now time.Time, is appState, cluster *managedcluster.Facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apps == nil {
		m.apps, m.counts, m.clusters = map[types.NamespacedName]countedApp{}, map[group]int{}, map[string]*heard{}
	}
	before := m.apps[app]
	m.drop(app, before)
	if is.state == "" {
		return
	}
	switch same := before.state == is.state && before.reason == is.reason; {
	case same && (is.since.IsZero() || before.since.Before(is.since)):
		is.since = before.since
	case is.since.IsZero() || is.since.After(now):
		is.since = now
	}
	s := countedApp{appState: is}
	if cluster != nil {
		s.cluster = cluster.Name
		h := m.clusters[s.cluster]
		if h == nil {
			h = &heard{}
			m.clusters[s.cluster] = h
		}
		h.applications++
		h.available, h.since = cluster.Unreachable == "", cluster.Since
	}
	m.apps[app] = s
	m.counts[groupOf(app, is)]++
}

// drop removes an Application from the counts. The caller holds the lock.
func (m *stateCounter) drop(app types.NamespacedName, was countedApp) {
	if was.state == "" {
		return
	}
	delete(m.apps, app)
	g := groupOf(app, was.appState)
	if m.counts[g]--; m.counts[g] == 0 {
		delete(m.counts, g)
	}
	if h := m.clusters[was.cluster]; h != nil {
		if h.applications--; h.applications == 0 {
			delete(m.clusters, was.cluster)
		}
	}
}

func groupOf(app types.NamespacedName, s appState) group {
	return group{namespace: app.Namespace, state: s.state, reason: s.reason}
}

// oldest returns, for each namespace and waiting state, since when the longest-waiting Application waits.
func (m *stateCounter) oldest() map[group]time.Time {
	out := map[group]time.Time{}
	for app, s := range m.apps {
		if !s.state.waits() {
			continue
		}
		g := group{namespace: app.Namespace, state: s.state}
		if first, is := out[g]; !is || s.since.Before(first) {
			out[g] = s.since
		}
	}
	return out
}

// collect sends all metrics of the counter.
func (m *stateCounter) collect(ch chan<- prometheus.Metric, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for g, n := range m.counts {
		send(applicationsDesc, float64(n), g.namespace, string(g.state), g.reason)
	}
	for g, since := range m.oldest() {
		send(oldestDesc, max(0, now.Sub(since).Seconds()), g.namespace, string(g.state))
	}
	for _, name := range slices.Sorted(maps.Keys(m.clusters)) {
		send(lastHeardDesc, m.clusters[name].lastly(now), name)
	}
}

// lastly returns the Unix time at which the cluster was last available. A cluster can write any time into the
// condition, so lastly limits the time to the past.
func (h *heard) lastly(now time.Time) float64 {
	at := now.Unix()
	if !h.available {
		at = max(0, min(h.since, at))
	}
	return float64(at)
}

// collector serves the metrics of the running controller.
type collector struct{}

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{applicationsDesc, oldestDesc, lastHeardDesc} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (collector) Collect(ch chan<- prometheus.Metric) {
	if m := counted.Load(); m != nil {
		m.collect(ch, time.Now())
	}
}

// targetOf returns the facts of the requested cluster of an Application; nil if the hub does not have the cluster, or
// if Towline does not wait for the cluster.
func targetOf(app *argocd.Application, clusters map[string]managedcluster.Facts) *managedcluster.Facts {
	if app == nil {
		return nil
	}
	f, is := clusters[app.Cluster()]
	if !is || f.NotWaitedFor() != "" {
		return nil
	}
	return &f
}
