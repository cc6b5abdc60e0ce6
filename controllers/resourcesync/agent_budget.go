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
	// maxNames is the maximum number of kept reports of a cluster without an Application on the hub.
	maxNames = 1000

	// maxMemory is the maximum memory in bytes for the reports of a cluster. Beyond maxMemory, the lists of reports are
	// left out. A resource takes some 300 bytes: maxMemory is enough for a hundred resources of each of a thousand
	// Applications.
	maxMemory = 32 << 20
)

// budgets are the memory of the reports of all clusters. A cluster can write any number of reports.
type budgets struct {
	mu       sync.Mutex
	clusters map[string]*budget
}

// budget is the state for a single cluster.
type budget struct {
	reports map[string]memory

	// names is the number of reports kept by name only. brief is the number of reports kept without their lists. bytes
	// is the memory of the other reports.
	names, brief, bytes int

	// told is true once the log says that lists are left out.
	told bool
}

// memory is the memory of a report. A report kept by name only has zero bytes.
type memory struct {
	bytes int
	brief bool
}

// begin forgets all reports before a new read of all reports.
func (b *budgets) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clusters = nil
	briefReports.Set(0)
}

// admitName returns true if a report may be kept by its name.
func (b *budgets) admitName(report client.ObjectKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.of(report)
	if of.names >= maxNames {
		return false
	}
	of.put(report.Name, memory{})
	return true
}

// admitWhole returns true if a report with the given memory may be kept with its lists.
func (b *budgets) admitWhole(report client.ObjectKey, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.of(report)
	fits := of.bytes+bytes <= maxMemory
	of.put(report.Name, memory{bytes: bytes, brief: !fits})
	told := of.told
	if of.told = of.brief > 0; of.told && !told {
		ctrl.Log.WithName("agent").Info("The ApplicationReports of a cluster take too much memory: of some, the lists of resources, results, "+
			"images, addresses and history are left out: the hub shows no history, and the other lists stay as they were", "cluster", report.Namespace,
			"bytes", maxMemory)
	}
	return fits
}

// drop records that a report is no longer kept.
func (b *budgets) drop(report client.ObjectKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of := b.of(report); len(of.reports) == 0 {
		delete(b.clusters, report.Namespace)
	}
}

// of returns the budget of a report's cluster, and removes the report from the budget.
func (b *budgets) of(report client.ObjectKey) *budget {
	of := b.clusters[report.Namespace]
	if of == nil {
		of = &budget{reports: map[string]memory{}}
		if b.clusters == nil {
			b.clusters = map[string]*budget{}
		}
		b.clusters[report.Namespace] = of
	}
	if was, ok := of.reports[report.Name]; ok {
		of.count(was, -1)
		delete(of.reports, report.Name)
	}
	return of
}

func (of *budget) put(name string, now memory) {
	of.reports[name] = now
	of.count(now, 1)
}

func (of *budget) count(m memory, n int) {
	switch {
	case m.brief:
		of.brief += n
		briefReports.Add(float64(n))
	case m.bytes == 0:
		of.names += n
	default:
		of.bytes += n * m.bytes
	}
}

// shrink returns the kept part of a report: the fields read by Facts, limited to the size of a report, or nil. A cluster
// can write reports of any name and number into its namespace. For reports without a work on the hub, shrink keeps only a
// limited number of names. If an Application needs such a report later, Facts reads the report from the API server.
func (a *Agent) shrink(obj any) (any, error) {
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
		if !a.budgets.admitName(key) {
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
	if !a.budgets.admitWhole(key, trim.Size(out)) {
		appreport.Brief(out)
	}
	return out, nil
}

// forget records the deletion of a report.
func (a *Agent) forget(obj runtime.Object) {
	if r, ok := obj.(*v1alpha1.ApplicationReport); ok {
		a.budgets.drop(client.ObjectKeyFromObject(r))
	}
}

// trimmed returns true if only the name of a report is kept. The schema requires that a report names its Application.
func trimmed(r *v1alpha1.ApplicationReport) bool { return r.Application.Name == "" }
