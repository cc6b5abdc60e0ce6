package simulation

import (
	"bytes"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/work"
)

// commits lets every tenant push a commit when no process has work left. A cluster deploys the commit if the
// Application has an automated sync. The oracle fails if the Application has lost its right there.
func (o *oracle) commits() {
	for _, c := range o.world.clusters {
		for _, at := range sortedKeys(c.apps) {
			if a := c.apps[at]; a.automated() && !a.deleting && len(a.owners) > 0 && o.stops(c, a) {
				o.world.fail("frozen", "cluster %s deploys a new commit of %s, which may not be there", c.name, a.owner())
			}
		}
	}
}

// automated reports whether Argo CD syncs an Application of a cluster automatically.
func (a *placed) automated() bool { return strings.Contains(a.spec["syncPolicy"], `"automated"`) }

// stops reports whether Towline must stop the automated syncs of an Application on a cluster: the Application has no
// right to be there, and Towline can write the work.
func (o *oracle) stops(c *cluster, a *placed) bool {
	app, ok := o.world.hub.get(applications, a.owner()).(*argocd.Application)
	leads := func(p *process) bool { return p.leads }
	switch {
	case !ok || app.Labels["hub-copy"] != "" || !slices.ContainsFunc(o.world.processes, leads):
		return false
	case argocd.Paused(o.world.annotationsOf(c)) || len(a.managers["spec:syncPolicy"]) > 1:
		return false
	case !o.world.mayNotSend(app.Namespace, c):
		return false
	}
	return slices.ContainsFunc(o.worksOf(a.owner()), func(w *workv1.ManifestWork) bool {
		return w.Namespace == c.name && a.isOf(w.Name) && work.CarriesTo(w, a.key) && work.NamedAfter(w.Name, app.Name) &&
			!unanswered(w) && !work.IsReadOnly(w) && work.ReportOf(w).Conflicts() == "" && work.UpdateModeOf(w) != work.CreateOnly
	})
}

// unanswered reports whether the agent has not yet applied or refused a request in a work. A freeze waits for the answer.
func unanswered(w *workv1.ManifestWork) bool {
	applied := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied)
	return work.CarriesRequest(w) && (applied == nil || applied.ObservedGeneration != w.Generation)
}

func (w *World) annotationsOf(c *cluster) map[string]string {
	if namespace := w.hub.get(clusterNamespaces, key{Name: c.name}); namespace != nil {
		return namespace.GetAnnotations()
	}
	return nil
}

// mayNotSend reports whether the administrators keep a namespace from an existing cluster, or all Applications from
// their source.
func (w *World) mayNotSend(namespace string, c *cluster) bool {
	mc := w.hub.get(managedClusters, key{Name: c.name})
	if mc == nil {
		return false
	}
	project, _ := w.hub.get(projects, projectKey).(*argocd.AppProject)
	if project == nil || !bytes.Contains(project.Spec.Raw, []byte(`"sourceRepos":["*"]`)) {
		return true
	}
	bound := w.hub.get(bindings, key{Namespace: namespace, Name: theSet}) != nil
	return w.options.Clusters != grants.None && (!bound || mc.GetLabels()[clusterv1beta2.ClusterSetLabel] != theSet)
}
