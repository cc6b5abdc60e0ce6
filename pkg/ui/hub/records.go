package hub

import (
	"strings"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/view"
)

// application is the kept part of an Application: its row, with times as numbers: equal content then gives equal
// values.
type application struct {
	row             view.Row
	heard, deleting int64
}

// keepApplication returns the row of a pulled Application.
func keepApplication(o client.Object) (unique.Handle[application], bool) {
	app, ok := o.(*argocd.Application)
	if !ok || !app.Pulled() {
		return unique.Handle[application]{}, false
	}
	a := application{row: view.OfApplication(app)}
	a.row.Message = feedback.Clean(a.row.Message, feedback.MaxMessage)
	if a.row.Heard != nil {
		a.heard, a.row.Heard = a.row.Heard.Unix(), nil
	}
	if app.DeletionTimestamp != nil {
		a.deleting = app.DeletionTimestamp.Unix()
	}
	return unique.Make(a), true
}

// ofApplication returns the key and the cluster of an Application.
func ofApplication(h unique.Handle[application]) (key types.NamespacedName, cluster string) {
	r := h.Value().row
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}, r.Cluster
}

// ofCluster returns the key and the name of a ManagedCluster.
func ofCluster(h unique.Handle[cluster]) (key types.NamespacedName, name string) {
	name = h.Value().name
	return types.NamespacedName{Name: name}, name
}

// cluster is the kept part of a ManagedCluster, for view.ClustersOf and the page.
type cluster struct {
	name, kubernetes, labels string
	accepted                 bool
	created, deleting        int64

	available     metav1.ConditionStatus
	since         int64
	reason, words string
	everAvailable bool
}

// between separates the labels of a cluster, and within separates key and value. No label contains these characters.
const between, within = "\n", "="

func keepCluster(o client.Object) (unique.Handle[cluster], bool) {
	m, ok := o.(*clusterv1.ManagedCluster)
	if !ok {
		return unique.Handle[cluster]{}, false
	}
	c := cluster{name: m.Name, kubernetes: m.Status.Version.Kubernetes, accepted: m.Spec.HubAcceptsClient, created: m.CreationTimestamp.Unix()}
	var labels []string
	for key, value := range m.Labels {
		labels = append(labels, key+within+value)
	}
	// A map has no order, but equal clusters must give equal values.
	c.labels = strings.Join(sorted(labels), between)
	if m.DeletionTimestamp != nil {
		c.deleting = m.DeletionTimestamp.Unix()
	}
	if a := meta.FindStatusCondition(m.Status.Conditions, clusterv1.ManagedClusterConditionAvailable); a != nil {
		c.everAvailable, c.available, c.since = true, a.Status, a.LastTransitionTime.Unix()
		c.reason, c.words = a.Reason, feedback.Clean(a.Message, feedback.MaxMessage)
	}
	return unique.Make(c), true
}

// managed returns the ManagedCluster with only the kept fields.
func (c *cluster) managed() clusterv1.ManagedCluster {
	m := clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.name, CreationTimestamp: metav1.Unix(c.created, 0)}}
	m.Spec.HubAcceptsClient, m.Status.Version.Kubernetes = c.accepted, c.kubernetes
	if c.deleting != 0 {
		at := metav1.Unix(c.deleting, 0)
		m.DeletionTimestamp = &at
	}
	if c.labels != "" {
		m.Labels = map[string]string{}
		for pair := range strings.SplitSeq(c.labels, between) {
			key, value, _ := strings.Cut(pair, within)
			m.Labels[key] = value
		}
	}
	if c.everAvailable {
		m.Status.Conditions = []metav1.Condition{{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: c.available, Reason: c.reason, Message: c.words,
			LastTransitionTime: metav1.Time{Time: time.Unix(c.since, 0)},
		}}
	}
	return m
}
