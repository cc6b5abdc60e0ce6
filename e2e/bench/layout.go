package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// layout maps numbers to names. An Application has a number, and the Applications of a cluster have consecutive
// numbers.
type layout struct {
	clusters, sets int

	// bySet is Options.BySet.
	bySet bool
}

func (l layout) applications() int { return l.clusters * l.sets }

func (layout) clusterName(i int) string { return fmt.Sprintf("cluster%05d", i) }

func (layout) setName(i int) string { return fmt.Sprintf("bench-set%02d", i) }

// cluster returns the cluster of an Application, and set the number of its ApplicationSet.
func (l layout) cluster(app int) string { return l.clusterName(app / l.sets) }

func (l layout) set(app int) int { return app % l.sets }

func (l layout) name(app int) string { return l.cluster(app) + "-" + l.setName(l.set(app)) }

// turn returns the i-th Application of the rollout.
func (l layout) turn(i int) int {
	if l.bySet {
		return i%l.clusters*l.sets + i/l.clusters
	}
	return i
}

// number returns the number of the Application with the given name.
func (l layout) number(name string) (int, bool) {
	cluster, set, ok := strings.Cut(name, "-bench-set")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(strings.TrimPrefix(cluster, "cluster"))
	j, err2 := strconv.Atoi(set)
	return i*l.sets + j, err == nil && err2 == nil && i < l.clusters && j < l.sets
}

// The API paths of the objects.
const (
	namespace        = fleet.ArgoCDNamespace
	argo             = "/apis/argoproj.io/v1alpha1"
	applicationsPath = argo + "/namespaces/" + namespace + "/applications"
	setsPath         = argo + "/namespaces/" + namespace + "/applicationsets"
	projectsPath     = argo + "/namespaces/" + namespace + "/appprojects"
	namespacesPath   = "/api/v1/namespaces"
	clustersPath     = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
	clusterSetsPath  = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets"
	bindingsPath     = "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/" + namespace + "/managedclustersetbindings"
	worksPath        = "/apis/work.open-cluster-management.io/v1/manifestworks"
	reportsPath      = "/apis/apps.open-cluster-management.io/v1alpha1/namespaces/" + namespace + "/multiclusterapplicationsetreports"
)

// worksOf returns the API path of the works of a cluster.
func worksOf(cluster string) string {
	return "/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks"
}
