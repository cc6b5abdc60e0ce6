package main

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/why"
)

// addOnGroup is the API group of Open Cluster Management's add-ons.
var addOnGroup = schema.GroupVersion{Group: "addon.open-cluster-management.io", Version: "v1alpha1"}

// addOns reads the add-ons of the clusters.
func (r *factReader) addOns(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(addOnGroup.WithKind("ManagedClusterAddOnList"))
	by := map[string]check.Cluster{}
	for _, c := range r.facts.Clusters {
		by[c.Name] = c
	}
	return r.take(check.AddOns, pages(ctx, r, list, pageSize, func(page *unstructured.UnstructuredList) error {
		for i := range page.Items {
			a := &page.Items[i]
			if c, known := by[a.GetNamespace()]; known {
				c.AddOns[a.GetName()] = reading.Condition(a, "Available")["status"] == "True"
			}
		}
		return nil
	}))
}

// template reads the image and the options of the agent.
func (r *factReader) template(ctx context.Context) error {
	manifests, err := r.manifests(ctx, check.AddOnAgent)
	for _, container := range reading.Containers(manifests) {
		r.facts.Agent, _ = container["image"].(string)
		r.facts.Door, r.facts.Sends = reading.Has(container, reading.FlagSource), reading.Has(container, reading.FlagManagedResources)
	}
	return err
}

// argoAddOn reads Open Cluster Management's add-on argocd.
func (r *factReader) argoAddOn(ctx context.Context) error {
	manifests, err := r.manifests(ctx, check.AddOnArgoCD)
	r.facts.ArgoAddOn = check.NewArgoAddOn(manifests)
	return err
}

// unlabelled finds Applications with a cluster but without the pull label.
func (r *factReader) unlabelled(ctx context.Context) error {
	out := []string{}
	r.facts.ThroughHub = map[string]int{}
	err := eachMetadata(ctx, r, applicationKind, func(m *metav1.PartialObjectMetadata) {
		if check.Unlabelled(m) {
			out = append(out, m.Namespace+"/"+m.Name)
		}
		if _, pulled := m.Labels[apis.LabelPull]; pulled && m.Annotations[apis.AnnotationSource] == apis.SourceHub {
			r.facts.ThroughHub[m.Annotations[apis.AnnotationCluster]]++
		}
		if r.sample == nil {
			if app := (&argocd.Application{ObjectMeta: m.ObjectMeta}); app.Pulled() && app.Cluster() != "" {
				r.sample = app
			}
		}
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil && !meta.IsNoMatchError(err):
		return err
	}
	r.facts.Unlabelled = out
	return nil
}

// source reads the state of towline-source.
func (r *factReader) source(ctx context.Context) (err error) {
	r.facts.Source, err = reading.SourceState(ctx, r)
	return r.take(check.APIServices, err)
}

// settings reads the settings of Argo CD, if a check needs them.
func (r *factReader) settings(ctx context.Context) error {
	if !r.facts.NeedsSettings() {
		return nil
	}
	m, err := reading.Get(ctx, r, types.NamespacedName{Namespace: r.facts.Namespace, Name: check.Settings}, &corev1.ConfigMap{})
	r.facts.HubRefused = m != nil && m.Data["cluster.inClusterEnabled"] == "false"
	return r.take(check.Settings, err)
}

// managed asks towline-source about the managed resources of an Application. Before each answer, towline-source asks the
// Redis of the hub's Argo CD.
func (r *factReader) managed(ctx context.Context) error {
	if r.sample == nil || r.facts.ManagedResources() == "" {
		return nil
	}
	of := &why.Facts{App: r.sample}
	if err := reading.Differences(ctx, r, of); err != nil || of.Differences == nil {
		return err
	}
	r.facts.RedisAway = of.Differences.Status.Reason == managedresources.ReasonRedisUnavailable
	return nil
}

// manifests reads the manifests of an AddOnTemplate. The result is empty if the template does not exist or may not be
// read.
func (r *factReader) manifests(ctx context.Context, name string) ([]any, error) {
	t := &unstructured.Unstructured{}
	t.SetGroupVersionKind(addOnGroup.WithKind("AddOnTemplate"))
	if err := r.Get(ctx, types.NamespacedName{Name: name}, t); err != nil {
		return nil, r.take(check.Templates, err)
	}
	return reading.Manifests(t)
}

// mayInstall reads the rights of the user.
func (r *factReader) mayInstall(ctx context.Context) error {
	r.facts.Rights = map[check.Right]bool{}
	for _, right := range check.ToInstall {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(right)}}
		if err := r.Create(ctx, review); err != nil {
			return r.take(check.Reviews, err)
		}
		r.facts.Rights[right] = review.Status.Allowed
	}
	return nil
}

func attributes(r check.Right) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}
}

// executors reads whether Towline may create works without an executor, if the hub restricts the right.
func (r *factReader) executors(ctx context.Context, accounts []types.NamespacedName) error {
	managers := &unstructured.UnstructuredList{}
	managers.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.open-cluster-management.io", Version: "v1", Kind: "ClusterManagerList"})
	if err := r.take(check.ClusterManagers, r.List(ctx, managers)); err != nil {
		return err
	}
	for i := range managers.Items {
		r.facts.NilExecutor.Enabled = r.facts.NilExecutor.Enabled || check.NilExecutorEnabled(&managers.Items[i])
	}
	for _, a := range accounts {
		if !r.facts.NilExecutor.Enabled {
			return nil
		}
		user := "system:serviceaccount:" + a.Namespace + ":" + a.Name
		allowed, err := r.may(ctx, user, check.WithoutExecutor)
		if err != nil {
			return r.take(check.Reviews, err)
		}
		if !allowed {
			r.facts.NilExecutor.Without = a.String()
		}
	}
	return nil
}

// may reports whether a different user has a right.
func (r *factReader) may(ctx context.Context, user string, right check.Right) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, Groups: serviceAccountGroups(user), ResourceAttributes: attributes(right),
	}}
	err := r.Create(ctx, review)
	return review.Status.Allowed, err
}

// cluster reads the facts about a managed cluster.
func (r *factReader) cluster(ctx context.Context, namespace, workAgent string) error {
	r.facts.Namespace = namespace
	if err := all(ctx, r.served, r.workloads); err != nil {
		return err
	}
	r.facts.Rights = map[check.Right]bool{}
	for _, right := range check.OfWorkAgent {
		right.Namespace = namespace
		allowed, err := r.may(ctx, workAgent, right)
		if err != nil {
			return r.take(check.Reviews, err)
		}
		r.facts.Rights[right] = allowed
	}
	return nil
}

// serviceAccountGroups returns the groups of a ServiceAccount; none for other users.
func serviceAccountGroups(user string) []string {
	namespace, ok := reading.AccountNamespace(user)
	if !ok {
		return nil
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}
