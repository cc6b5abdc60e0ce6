package resourcesync

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/appreport"
)

const (
	// maxNames is the maximum number of held reports of a cluster without an Application on the hub.
	maxNames = 1000

	// maxHeld is the maximum memory in bytes for the reports of a cluster. Beyond maxHeld, the lists of reports are
	// left out. A resource takes some 300 bytes: maxHeld is enough for a hundred resources of each of a thousand
	// Applications.
	maxHeld = 32 << 20
)

// holdings are the held reports of all clusters. A cluster can write any number of reports.
type holdings struct {
	mu       sync.Mutex
	clusters map[string]*holding
}

// holding is the state for a single cluster.
type holding struct {
	reports map[string]held

	// names is the number of reports held by name only. brief is the number of reports held without their lists. bytes
	// is the memory of the other reports.
	names, brief, bytes int

	// told is true once the log says that lists are left out.
	told bool
}

// held is the memory of a report. A report held by name only has zero bytes.
type held struct {
	bytes int
	brief bool
}

// begin forgets all reports before a new read of all reports.
func (h *holdings) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clusters = nil
	briefReports.Set(0)
}

// name returns true if a report may be held by its name.
func (h *holdings) name(report client.ObjectKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(report)
	if of.names >= maxNames {
		return false
	}
	of.put(report.Name, held{})
	return true
}

// whole returns true if a report with the given memory may be held with its lists.
func (h *holdings) whole(report client.ObjectKey, bytes int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.of(report)
	fits := of.bytes+bytes <= maxHeld
	of.put(report.Name, held{bytes: bytes, brief: !fits})
	told := of.told
	if of.told = of.brief > 0; of.told && !told {
		ctrl.Log.WithName("agent").Info("The ApplicationReports of a cluster take too much memory: of some, the lists of resources, results, "+
			"images, addresses and history are left out: the hub shows no history, and the other lists stay as they were", "cluster", report.Namespace,
			"bytes", maxHeld)
	}
	return fits
}

// gone records that a report is no longer held.
func (h *holdings) gone(report client.ObjectKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of := h.of(report); len(of.reports) == 0 {
		delete(h.clusters, report.Namespace)
	}
}

// of returns the holding of a report's cluster, and removes the report from the holding.
func (h *holdings) of(report client.ObjectKey) *holding {
	of := h.clusters[report.Namespace]
	if of == nil {
		of = &holding{reports: map[string]held{}}
		if h.clusters == nil {
			h.clusters = map[string]*holding{}
		}
		h.clusters[report.Namespace] = of
	}
	if was, ok := of.reports[report.Name]; ok {
		of.count(was, -1)
		delete(of.reports, report.Name)
	}
	return of
}

func (of *holding) put(name string, now held) {
	of.reports[name] = now
	of.count(now, 1)
}

func (of *holding) count(h held, n int) {
	switch {
	case h.brief:
		of.brief += n
		briefReports.Add(float64(n))
	case h.bytes == 0:
		of.names += n
	default:
		of.bytes += n * h.bytes
	}
}

// hold returns the held part of a report: the fields read by Facts, limited to the size of a report, or nil. A cluster
// can write reports of any name and number into its namespace. For reports without a work on the hub, hold keeps only a
// limited number of names. If an Application needs such a report later, Facts reads the report from the API server.
func (a *Agent) hold(obj any) (any, error) {
	r, ok := obj.(*v1alpha1.ApplicationReport)
	if !ok {
		return obj, nil
	}
	key := client.ObjectKeyFromObject(r)
	out := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, Generation: r.Generation,
		CreationTimestamp: r.CreationTimestamp,
	}}
	if appreport.Owner(r) != "" {
		out.OwnerReferences = r.OwnerReferences
	}
	if len(index.ApplicationsOfWork(context.Background(), a.apps, key)) == 0 {
		if !a.held.name(key) {
			return nil, nil //nolint:nilnil // documented
		}
		return out, nil
	}
	out.Application, out.ObservedAt, out.NotComparedSince = r.Application, r.ObservedAt, r.NotComparedSince
	out.Status, out.Unreadable, out.Truncated = r.Status, r.Unreadable, r.Truncated
	if a.Trees {
		out.Tree = r.Tree
	}
	appreport.Bound(out)
	if !a.held.whole(key, trim.Size(out)) {
		appreport.Brief(out)
	}
	return out, nil
}

// forget records the deletion of a report.
func (a *Agent) forget(obj runtime.Object) {
	if r, ok := obj.(*v1alpha1.ApplicationReport); ok {
		a.held.gone(client.ObjectKeyFromObject(r))
	}
}

// trimmed returns true if only the name of a report is held. The schema requires that a report names its Application.
func trimmed(r *v1alpha1.ApplicationReport) bool { return r.Application.Name == "" }
