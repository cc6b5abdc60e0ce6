package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
)

// The GitOpsCluster controller of Advanced Cluster Management, by the rules of multicloud-integrations (pkg/controller/gitopscluster).

const (
	acmNamespace  = "open-cluster-management"
	acmLabel      = apis.Group + "/acm-cluster"
	acmRoleSuffix = "-applicationset-controller-placement"
)

// acmPasses is the time between two passes of the controller.
const acmPasses = time.Second

// runACM plays the GitOpsCluster controller until a call of the returned function, and at most until the suite ends.
func runACM() (end func()) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := acmPass(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(GinkgoWriter, "the GitOpsCluster controller of Advanced Cluster Management:", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(acmPasses):
			}
		}
	}()
	end = func() {
		stop()
		<-done
	}
	DeferCleanup(end)
	return end
}

// acmPass reconciles all GitOpsClusters once. It then deletes the controller's cluster Secrets without a GitOpsCluster.
func acmPass(ctx context.Context) error {
	list, secrets := &unstructured.UnstructuredList{}, &corev1.SecretList{}
	list.SetAPIVersion(apis.Group + "/v1beta1")
	list.SetKind("GitOpsClusterList")
	if err := hub.List(ctx, secrets, client.MatchingLabels{acmLabel: "true", apis.LabelSecretType: apis.SecretTypeCluster}); err != nil {
		return err
	}
	if err := hub.List(ctx, list); err != nil {
		return err
	}
	kept := map[types.NamespacedName]bool{}
	var errs error
	for i := range list.Items {
		errs = errors.Join(errs, acmImport(ctx, &list.Items[i], kept))
	}
	for i := range secrets.Items {
		if !kept[client.ObjectKeyFromObject(&secrets.Items[i])] {
			errs = errors.Join(errs, client.IgnoreNotFound(hub.Delete(ctx, &secrets.Items[i])))
		}
	}
	return errs
}

// acmImport makes the cluster Secrets of a GitOpsCluster, and writes success or failure into the status.
func acmImport(ctx context.Context, g *unstructured.Unstructured, kept map[types.NamespacedName]bool) error {
	there, _, _ := unstructured.NestedString(g.Object, "spec", "argoServer", "argoNamespace")
	phase, message := "successful", "Added managed clusters to gitops namespace "+there
	if err := acmImportTo(ctx, g, there, kept); err != nil {
		phase, message = "failed", err.Error()
	}
	if was, _, _ := unstructured.NestedString(g.Object, "status", "message"); was == message {
		return nil
	}
	before := g.DeepCopy()
	g.Object["status"] = map[string]any{"phase": phase, "message": message, "lastUpdateTime": metav1.Now().UTC().Format(time.RFC3339)}
	return client.IgnoreNotFound(hub.Status().Patch(ctx, g, client.MergeFrom(before)))
}

func acmImportTo(ctx context.Context, g *unstructured.Unstructured, there string, kept map[types.NamespacedName]bool) error {
	servers := &corev1.ServiceList{}
	err := hub.List(ctx, servers, client.InNamespace(there),
		client.MatchingLabels{"app.kubernetes.io/component": "server", "app.kubernetes.io/part-of": "argocd"})
	if err != nil || len(servers.Items) == 0 {
		return fmt.Errorf("invalid gitops namespace because argo server pod was not found: %w", err)
	}
	if err := acmGenerator(ctx, there); err != nil {
		return err
	}
	placement, _, _ := unstructured.NestedString(g.Object, "spec", "placementRef", "name")
	decisions := &clusterv1beta1.PlacementDecisionList{}
	err = hub.List(ctx, decisions, client.InNamespace(g.GetNamespace()), client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})
	if err != nil || len(decisions.Items) == 0 {
		return fmt.Errorf("no placement decision found for placement: %s: %w", placement, err)
	}
	blank, _, _ := unstructured.NestedBool(g.Object, "spec", "createBlankClusterSecrets")
	var errs error
	for i := range decisions.Items {
		for _, d := range decisions.Items[i].Status.Decisions {
			errs = errors.Join(errs, acmSecret(ctx, d.ClusterName, there, blank, kept))
		}
	}
	return errs
}

// acmGenerator makes the ConfigMaps, the Role and the RoleBinding by which the ApplicationSet controller reads
// placements. Existing objects stay unchanged.
func acmGenerator(ctx context.Context, there string) error {
	config := func(name, version, kind string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: name},
			Data:       map[string]string{"apiVersion": version, "kind": kind, "statusListKey": "decisions", "matchKey": "clusterName"},
		}
	}
	meta := metav1.ObjectMeta{Namespace: there, Name: there + acmRoleSuffix}
	for _, obj := range []client.Object{
		config("acm-placementrule", "apps.open-cluster-management.io/v1", "placementrules"),
		config("acm-placement", "cluster.open-cluster-management.io/v1beta1", "placementdecisions"),
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{apis.Group}, Resources: []string{"placementrules"}, Verbs: []string{"list"}},
			{APIGroups: []string{"cluster.open-cluster-management.io"}, Resources: []string{"placementdecisions"}, Verbs: []string{"list"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: there, Name: "argocd-applicationset-controller"}},
		},
	} {
		if err := hub.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// acmSecret makes the cluster Secret of a cluster: without credentials if blank is true, otherwise with the data of the
// Secret in the cluster's namespace.
func acmSecret(ctx context.Context, cluster, there string, blank bool, kept map[types.NamespacedName]bool) error {
	mc := &clusterv1.ManagedCluster{}
	if err := hub.Get(ctx, types.NamespacedName{Name: cluster}, mc); err != nil {
		return err
	}
	name, server := cluster+"-cluster-secret", cluster+"-control-plane"
	data := map[string]string{"name": cluster, "server": "https://" + server}
	if !blank {
		from := &corev1.Secret{}
		if err := hub.Get(ctx, types.NamespacedName{Namespace: cluster, Name: name}, from); err != nil {
			return err
		}
		for key, value := range from.Data {
			data[key] = string(value)
		}
	}
	wanted := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: there, Name: name}, StringData: data}
	wanted.Labels = map[string]string{
		apis.LabelSecretType: apis.SecretTypeCluster, acmLabel: "true", apis.Group + "/cluster-name": cluster, apis.Group + "/cluster-server": server,
	}
	for key, value := range mc.Labels {
		if _, has := wanted.Labels[key]; !has {
			wanted.Labels[key] = value
		}
	}
	existing := &corev1.Secret{}
	err := hub.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	switch {
	case apierrors.IsNotFound(err):
		err = hub.Create(ctx, wanted)
	case err == nil:
		maps.Copy(existing.Labels, wanted.Labels) // labels are added, and no label is removed
		existing.StringData = data
		err = hub.Update(ctx, existing)
	}
	if err == nil {
		kept[client.ObjectKeyFromObject(wanted)] = true
	}
	return err
}

// acmHub has the objects of a hub of Advanced Cluster Management before Towline: the mark of the product, and the
// Deployment with its pull controller and its controller of GitOpsClusters. OpenShift GitOps brings the Service and the
// controller of ApplicationSets.
const acmHub = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: multiclusterhubs.operator.open-cluster-management.io}
spec:
  group: operator.open-cluster-management.io
  names: {kind: MultiClusterHub, listKind: MultiClusterHubList, plural: multiclusterhubs, singular: multiclusterhub}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: open-cluster-management}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: multicluster-integrations, namespace: open-cluster-management, labels: {name: multicluster-integrations}}
spec:
  replicas: 1
  selector: {matchLabels: {name: multicluster-integrations}}
  template:
    metadata: {labels: {name: multicluster-integrations}}
    spec:
      containers:
      - {name: multicluster-integrations-gitops, image: multicloud-integrations, command: [/usr/local/bin/gitopscluster]}
      - {name: argocd-pull-integration-controller-manager, image: multicloud-integrations, command: [/usr/local/bin/propagation]}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: openshift-gitops-applicationset-controller
  namespace: argocd
  labels: &labels {app.kubernetes.io/name: openshift-gitops-applicationset-controller, app.kubernetes.io/part-of: argocd-applicationset}
spec:
  selector: {matchLabels: *labels}
  template:
    metadata: {labels: *labels}
    spec: {containers: [{name: argocd-applicationset-controller, image: argocd}]}
---
apiVersion: v1
kind: Service
metadata:
  name: openshift-gitops-server
  namespace: argocd
  labels: {app.kubernetes.io/component: server, app.kubernetes.io/part-of: argocd}
spec: {ports: [{port: 443}]}
`

// published is the folder of the CRDs as Advanced Cluster Management ships them.
const published = "pkg/apis/apps/testdata/published"

// beACM makes the hub a hub of Advanced Cluster Management. The returned function stops the controller of
// GitOpsClusters.
func beACM(ctx context.Context) (end func()) {
	GinkgoHelper()
	towline.Changes = towline.ForACM
	apply(ctx, acmHub)
	Expect(towline.Apply(ctx, f, &f.Hub.ControlPlane, published)).To(Succeed())
	_, err := f.Hub.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=1m",
		"crd/gitopsclusters."+apis.Group, "crd/"+reportsCRD, "crd/multiclusterhubs.operator.open-cluster-management.io")
	Expect(err).NotTo(HaveOccurred())
	return runACM() //nolint:contextcheck // the controller runs longer than the context
}

// onThisArgoCD returns a file of example/openshift-gitops for the namespace of the fleet's Argo CD.
func onThisArgoCD(file string) string {
	GinkgoHelper()
	manifest, err := towline.Manifest(f, "example/openshift-gitops/"+file)
	Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(manifest, "openshift-gitops", argocdNamespace)
}
