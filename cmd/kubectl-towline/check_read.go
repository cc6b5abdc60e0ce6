package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argoredis"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/feedback"
	"github.com/towline-io/towline/pkg/managedcluster"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/work"
)

// factReader reads the facts for checks.
type factReader struct {
	client.Client

	discovery discovery.DiscoveryInterface
	facts     *check.Facts

	// homes are the namespaces of the hub's Towline; nil on a managed cluster.
	homes map[string]bool

	// sample is an Application for a cluster; nil without such an Application.
	sample *argocd.Application
}

func newFactReader(config *rest.Config) (*factReader, error) {
	c, err := connectAll(config)
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	return &factReader{Client: c, discovery: d, facts: &check.Facts{Now: time.Now(), Unread: map[string]bool{}, Served: map[string]bool{}}}, err
}

// connectAll returns a client that asks the API server for the available kinds.
func connectAll(config *rest.Config) (client.Client, error) {
	scheme, err := reading.Scheme()
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*runtime.Scheme) error{
		coordinationv1.AddToScheme, admissionv1.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// take notes a refused read. A missing object is no failure.
func (r *factReader) take(kind string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		r.facts.Unread[kind] = true
	case err == nil, apierrors.IsNotFound(err), meta.IsNoMatchError(err):
	default:
		return err
	}
	return nil
}

// all calls the reads in order, until a read fails.
func all(ctx context.Context, reads ...func(context.Context) error) error {
	for _, read := range reads {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hub reads the facts about a hub.
func (r *factReader) hub(ctx context.Context, t *reading.Flags) error {
	if err := r.take(check.Deployments, t.Read(ctx, r)); err != nil {
		return err
	}
	accounts, err := reading.Accounts(ctx, r)
	if err := r.take(check.Deployments, err); err != nil {
		return err
	}
	r.homes = map[string]bool{}
	for _, a := range accounts {
		r.homes[a.Namespace] = true
	}
	r.facts.Namespace, r.facts.Redis = cmp.Or(t.ArgoCDNamespace, apis.DefaultArgoCDNamespace), t.ArgoCDRedis
	r.facts.NoTree, r.facts.NoGitOpsClusters = !t.Runs("resourcetree"), !t.Runs("gitopscluster")
	return all(ctx, r.served, r.workloads, r.schemas, r.leases, r.older, r.policies, r.services, r.refused, r.clusters, r.addOns, r.template,
		r.argoAddOn, r.unlabelled, r.acm, r.source, r.settings, r.managed, func(ctx context.Context) error { return r.executors(ctx, accounts) })
}

// served reads the version and the resources of the API server.
func (r *factReader) served(_ context.Context) error {
	v, err := r.discovery.ServerVersion()
	if err != nil {
		return err
	}
	r.facts.Kubernetes = v.GitVersion
	for _, resource := range append(check.NeededResources(), check.ACMHub) {
		i := strings.LastIndex(resource, "/")
		list, err := r.discovery.ServerResourcesForGroupVersion(resource[:i])
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		for k := 0; list != nil && k < len(list.APIResources); k++ {
			r.facts.Served[resource[:i]+"/"+list.APIResources[k].Name] = true
		}
	}
	return nil
}

func (r *factReader) workloads(ctx context.Context) error {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	if err := r.take(check.Deployments, r.List(ctx, deployments)); err != nil {
		return err
	}
	if err := r.take(check.Deployments, r.List(ctx, sets)); err != nil {
		return err
	}
	add := func(m metav1.ObjectMeta, wanted *int32, ready int32, pod corev1.PodSpec) {
		w := check.Workload{Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Wanted: 1, Ready: ready,
			Stranger: r.homes != nil && !r.homes[m.Namespace]}
		if wanted != nil {
			w.Wanted = *wanted
		}
		if len(pod.Containers) > 0 {
			w.Image = pod.Containers[0].Image
			w.ManagedResources, _ = reading.Argument(pod.Containers[0].Args, "--managed-resources")
		}
		r.facts.Workloads = append(r.facts.Workloads, w)
	}
	for _, d := range deployments.Items {
		add(d.ObjectMeta, d.Spec.Replicas, d.Status.ReadyReplicas, d.Spec.Template.Spec)
	}
	for _, s := range sets.Items {
		add(s.ObjectMeta, s.Spec.Replicas, s.Status.ReadyReplicas, s.Spec.Template.Spec)
	}
	return nil
}

// schemas reads whether the CRDs have the fields in check.Schemas.
func (r *factReader) schemas(ctx context.Context) error {
	r.facts.Fields = map[string]bool{}
	read := map[string]*unstructured.Unstructured{}
	for _, s := range check.Schemas {
		crd, known := read[s.CRD]
		if !known {
			crd = &unstructured.Unstructured{}
			crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
			err := r.Get(ctx, types.NamespacedName{Name: s.CRD}, crd)
			if err != nil {
				crd = nil
			}
			if err := r.take(check.CRDs, err); err != nil {
				return err
			}
			read[s.CRD] = crd
		}
		if crd == nil {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		has := false
		for _, v := range versions {
			version, _ := v.(map[string]any)
			open, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
			has = has || check.HasField(open, s.Field)
		}
		r.facts.Fields[s.CRD+":"+s.Field] = has
	}
	return nil
}

func (r *factReader) leases(ctx context.Context) error {
	namespaces := map[string]bool{r.facts.Namespace: true}
	for _, w := range r.facts.Workloads {
		if w.OfTowline() {
			namespaces[w.Namespace] = true
		}
	}
	var err error
	for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
		l, e := r.lease(ctx, types.NamespacedName{Namespace: ns, Name: "towline-controller"})
		if err = cmp.Or(err, e); l != nil && (r.facts.Lease == nil || l.Renewed.After(r.facts.Lease.Renewed)) {
			r.facts.Lease = l
		}
	}
	if err != nil && r.facts.Lease == nil { // the Lease of a single namespace is enough
		return r.take(check.Leases, err)
	}
	r.facts.OlderLease, err = r.lease(ctx, clusterimport.OlderLease)
	if apierrors.IsForbidden(err) {
		return nil // the Deployments give the same information
	}
	return err
}

func (r *factReader) lease(ctx context.Context, key types.NamespacedName) (*check.Lease, error) {
	l, err := reading.Get(ctx, r, key, &coordinationv1.Lease{})
	if l == nil || err != nil {
		return nil, err
	}
	out := &check.Lease{}
	if l.Spec.HolderIdentity != nil {
		out.Holder = *l.Spec.HolderIdentity
	}
	if l.Spec.RenewTime != nil {
		out.Renewed = l.Spec.RenewTime.Time
	}
	return out, nil
}

// older reads whether the older controllers are switched off in their own configuration.
func (r *factReader) older(ctx context.Context) error {
	for _, w := range r.facts.Workloads {
		if !strings.HasPrefix(w.Name, "multicluster-integrations") || !r.facts.AtOlder(w) {
			continue
		}
		m, err := reading.Get(ctx, r, types.NamespacedName{Namespace: w.Namespace, Name: "multicluster-integrations-config"}, &corev1.ConfigMap{})
		if err != nil {
			return r.take(check.ConfigMaps, err)
		}
		r.facts.OlderDisabled = m != nil && check.OlderDisabled(m.Data["config.yaml"])
	}
	return nil
}

func (r *factReader) policies(ctx context.Context) error {
	list, bindings := &admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}
	if err := r.take(check.Policies, r.List(ctx, list)); err != nil {
		return err
	}
	if err := r.take(check.Policies, r.List(ctx, bindings)); err != nil {
		return err
	}
	bound := map[string]bool{}
	for _, b := range bindings.Items {
		bound[b.Spec.PolicyName] = true
	}
	r.facts.Policies = map[string]bool{}
	for _, p := range list.Items {
		r.facts.Policies[p.Name] = bound[p.Name]
	}
	return nil
}

// services reads the objects with the address of Argo CD's Redis.
func (r *factReader) services(ctx context.Context) error {
	params, list := &corev1.ConfigMap{}, &corev1.ServiceList{}
	var err error
	if r.facts.Redis == "" { // no flag sets the address
		err = r.Get(ctx, client.ObjectKey{Namespace: r.facts.Namespace, Name: argoredis.Params}, params)
	}
	if client.IgnoreNotFound(err) == nil {
		err = r.List(ctx, list, client.InNamespace(r.facts.Namespace))
	}
	if err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return err
	}
	r.facts.ArgoCDParams, r.facts.Services = params.Data, map[string]bool{}
	for _, s := range list.Items {
		r.facts.Services[s.Name] = true
	}
	return nil
}

// refused reads the errors of work agents that could not apply an Application. The conditions of Applications only
// select the works to read: a tenant can write such a condition too. Therefore the number of reads is limited, and
// the namespaces take turns.
func (r *factReader) refused(ctx context.Context) error {
	told := map[string]*argocd.Application{}
	err := applications(ctx, r, func(app *argocd.Application) {
		if argocd.IndexCondition(app.Status.Conditions, apis.ConditionWorkApplyError) >= 0 && app.ReconcileSkipped() {
			told[work.Key(app).String()] = app
		}
	})
	said, reads := map[string]string{}, map[string]int{}
	for _, app := range inTurns(told) {
		if cluster := app.Cluster(); err == nil && said[cluster] == "" && reads[cluster] < maxRefusals {
			reads[cluster]++
			said[cluster], err = r.refusal(ctx, app)
		}
	}
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil && !meta.IsNoMatchError(err):
		return err
	}
	maps.DeleteFunc(said, func(_, message string) bool { return message == "" })
	r.facts.Refused = said
	return nil
}

// maxRefusals is the maximum number of works read for each cluster.
const maxRefusals = 20

// inTurns returns the Applications in an order in which the namespaces of each cluster take turns.
func inTurns(told map[string]*argocd.Application) []*argocd.Application {
	type place struct{ cluster, namespace string }
	turns, turn := map[place]int{}, map[string]int{}
	keys := slices.Sorted(maps.Keys(told))
	for _, key := range keys {
		p := place{told[key].Cluster(), told[key].Namespace}
		turn[key] = turns[p]
		turns[p]++
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(turn[a], turn[b]) })
	out := make([]*argocd.Application, 0, len(keys))
	for _, key := range keys {
		out = append(out, told[key])
	}
	return out
}

// refusal returns the work agent's error for an Application; empty for none.
func (r *factReader) refusal(ctx context.Context, app *argocd.Application) (string, error) {
	w := &workv1.ManifestWork{}
	if err := r.Get(ctx, work.Key(app), w); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	c := feedback.WorkCondition(&w.Status, work.Identifier(app), workv1.WorkApplied)
	if c == nil || c.Status != metav1.ConditionFalse || work.Retried(w, app) {
		return "", nil
	}
	return feedback.Clean(c.Message, feedback.MaxMessage), nil
}

func (r *factReader) clusters(ctx context.Context) error {
	namespaces := map[string]*metav1.PartialObjectMetadata{}
	if err := eachMetadata(ctx, r, namespaceKind, func(ns *metav1.PartialObjectMetadata) {
		if ns.Annotations[apis.AnnotationSource] != "" {
			namespaces[ns.Name] = ns
		}
	}); err != nil && !apierrors.IsForbidden(err) { // without the right, the labels of the ManagedClusters count alone
		return err
	}
	return r.take(check.Clusters, pages(ctx, r, &clusterv1.ManagedClusterList{}, pageSize, func(page *clusterv1.ManagedClusterList) error {
		for _, c := range page.Items {
			r.facts.Clusters = append(r.facts.Clusters, check.Cluster{
				Name: c.Name, Accepted: c.Spec.HubAcceptsClient, AddOns: map[string]bool{},
				ThroughHub: managedcluster.Of(&c, namespaces[c.Name]).ThroughHub(),
				Available:  meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1.ManagedClusterConditionAvailable),
			})
		}
		return nil
	}))
}
