package gitopscluster

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clusterimport"
)

var (
	importedClusters = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_gitopscluster_clusters",
		Help: "Clusters that a GitOpsCluster has imported into an Argo CD.",
	}, []string{"namespace", "gitopscluster"})

	readyGitOpsClusters = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "towline_gitopscluster_ready",
		Help: "1 if every cluster chosen by the Placement of a GitOpsCluster is imported correctly, otherwise 0.",
	}, []string{"namespace", "gitopscluster"})

	secretWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "towline_cluster_secret_writes_total",
		Help: "Argo CD cluster Secrets written, by operation: create, update or delete.",
	}, []string{"operation"})
)

func init() {
	// Without an initial zero, Prometheus would not see the first write as an increase.
	for _, verb := range []clusterimport.Verb{clusterimport.Create, clusterimport.Update, clusterimport.Delete} {
		secretWrites.WithLabelValues(string(verb))
	}
	metrics.Registry.MustRegister(importedClusters, readyGitOpsClusters, secretWrites)
}

// show sets the gauges of a GitOpsCluster. clusters is the number of clusters; nil for unknown.
func show(g *v1beta1.GitOpsCluster, clusters *int32) {
	if clusters != nil {
		importedClusters.WithLabelValues(g.Namespace, g.Name).Set(float64(*clusters))
	}
	ready := 0.0
	if meta.IsStatusConditionTrue(g.Status.Conditions, apis.ConditionReady) {
		ready = 1
	}
	readyGitOpsClusters.WithLabelValues(g.Namespace, g.Name).Set(ready)
}

func forget(g types.NamespacedName) {
	importedClusters.DeleteLabelValues(g.Namespace, g.Name)
	readyGitOpsClusters.DeleteLabelValues(g.Namespace, g.Name)
}
