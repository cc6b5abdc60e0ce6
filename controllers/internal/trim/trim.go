package trim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Application is a cache.TransformFunc for Applications.
func Application(obj any) (any, error) {
	app, ok := obj.(*argocd.Application)
	if !ok {
		return obj, nil // a tombstone
	}
	typeMeta(&app.TypeMeta)
	meta(&app.ObjectMeta)
	app.Spec.Raw = sharedSpec(app.Spec.Raw)
	s := &app.Status
	intern(&s.Health.Status, &s.Health.Message)
	if s.Sync != nil {
		intern(&s.Sync.Status, &s.Sync.Revision)
		interned(s.Sync.Revisions)
	}
	if o := s.OperationState; o != nil {
		intern(&o.Phase, &o.Message)
		if o.SyncResult != nil {
			intern(&o.SyncResult.Revision)
		}
		same(o.StartedAt, &o.FinishedAt, &s.ReconciledAt, &s.Health.LastTransitionTime)
		same(o.FinishedAt, &s.ReconciledAt, &s.Health.LastTransitionTime)
	}
	return app, nil
}

// Cluster is a cache.TransformFunc for ManagedClusters. Their capacities and versions serve the scheduling of
// workloads, and Towline does not schedule. The clusters' agents may write any value.
func Cluster(obj any) (any, error) {
	cluster, ok := obj.(*clusterv1.ManagedCluster)
	if !ok {
		return obj, nil
	}
	typeMeta(&cluster.TypeMeta)
	boundCluster(cluster)
	meta(&cluster.ObjectMeta)
	cluster.Status.Capacity, cluster.Status.Allocatable = nil, nil
	cluster.Status.Version = clusterv1.ManagedClusterVersion{}
	cluster.Status.Conditions = conditions(cluster.Status.Conditions)
	return cluster, nil
}

// Namespace is a cache.TransformFunc for the metadata of Namespaces. For the namespaces of clusters, Namespace keeps
// the annotations of administrators. For the namespaces of Argo CDs, Namespace keeps a label and the list of permitted
// accounts.
func Namespace(obj any) (any, error) {
	ns, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	typeMeta(&ns.TypeMeta)
	ns.ObjectMeta = metav1.ObjectMeta{
		Name: ns.Name, UID: ns.UID, ResourceVersion: ns.ResourceVersion, DeletionTimestamp: ns.DeletionTimestamp,
		Annotations: sharedMap(only(ns.Annotations, apis.AnnotationPaused, apis.AnnotationServer, apis.AnnotationSource,
			apis.AnnotationSourceAddress, apis.AnnotationGitOpsAccounts)),
		Labels: sharedMap(only(ns.Labels, apis.LabelArgoNamespace)),
	}
	return ns, nil
}

// only returns the entries with the given keys.
func only(m map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, ok := m[key]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// Work is a cache.TransformFunc for ManifestWorks. Work keeps only the used part of the agents' reports.
func Work(obj any) (any, error) {
	w, ok := obj.(*workv1.ManifestWork)
	if !ok {
		return obj, nil
	}
	typeMeta(&w.TypeMeta)
	boundWork(w)
	meta(&w.ObjectMeta)
	name := sameStart(w.Annotations, w.Name)
	for i := range w.Spec.ManifestConfigs {
		config(&w.Spec.ManifestConfigs[i])
		same(name, &w.Spec.ManifestConfigs[i].ResourceIdentifier.Name)
	}
	w.Status.Conditions = sharedConditions(w.Status.Conditions)
	manifests := exact(w.Status.ResourceStatus.Manifests)
	for i := range manifests {
		m := &manifests[i]
		intern(&m.ResourceMeta.Group, &m.ResourceMeta.Version, &m.ResourceMeta.Kind, &m.ResourceMeta.Resource, &m.ResourceMeta.Namespace)
		same(name, &m.ResourceMeta.Name)
		m.Conditions = sharedConditions(m.Conditions)
		m.StatusFeedbacks.Values = values(m.StatusFeedbacks.Values)
	}
	w.Status.ResourceStatus.Manifests = manifests
	return w, nil
}

// sameStart makes the Application's name in the annotations of a work share the bytes of the work's own name, and
// returns the Application's name. The work's name starts with the Application's name.
func sameStart(annotations map[string]string, work string) string {
	name := annotations[apis.AnnotationHubName]
	if name != "" && strings.HasPrefix(work, name) {
		name = work[:len(name)]
		annotations[apis.AnnotationHubName] = name
	}
	return name
}

// meta drops the metadata for the API server only, and kubectl's annotation with a copy of the whole object.
func meta(m *metav1.ObjectMeta) {
	m.ManagedFields = nil
	if _, ok := m.Annotations[corev1.LastAppliedConfigAnnotation]; ok { //nolint:staticcheck // they may be shared, and deleting writes
		delete(m.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	intern(&m.Namespace)
	m.Annotations = sharedMap(m.Annotations)
	m.Labels = sharedMap(m.Labels)
	m.Finalizers = sharedList(m.Finalizers)
	m.OwnerReferences = sharedOwners(m.OwnerReferences)
}

func typeMeta(t *metav1.TypeMeta) { intern(&t.APIVersion, &t.Kind) }
