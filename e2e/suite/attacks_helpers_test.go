package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

const (
	// tenantNamespace is the namespace with all of the tenant's rights on Applications and reports.
	tenantNamespace = "tenant-a"

	// victim is an Application of a different tenant. Its ApplicationSet is victimSet.
	victim, victimSet = "victim-cluster2", "victim"

	// allowedAddress is the only address permitted by the AppProject by-address. No cluster has the address.
	allowedAddress = "https://production.example.com:6443"
)

// clientWith returns a client for a kubeconfig.
func clientWith(kubeconfig string, err error) client.Client {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1 // attackers do not limit their requests
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// tenantManifests give the tenant its namespace, its project and cluster1.
func tenantManifests() string {
	return fmt.Sprintf(`
{apiVersion: v1, kind: Namespace, metadata: {name: tenant-a}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tenant, namespace: tenant-a}
rules:
- {apiGroups: [argoproj.io], resources: [applications, applicationsets], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [apps.open-cluster-management.io], resources: [multiclusterapplicationsetreports], verbs: [get, list, create, update, patch, delete]}
- {apiGroups: [""], resources: [events], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tenant, namespace: tenant-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: tenant-a}
spec: {clusterSelector: {selectorType: LabelSelector, labelSelector: {matchLabels: {tenant: a}}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: tenant-a, namespace: tenant-a}
spec: {clusterSet: tenant-a}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: tenant-a, namespace: argocd}
spec:
  sourceNamespaces: [tenant-a]
  sourceRepos: [%q]
  destinations: [{name: cluster1, namespace: tenant-a}]
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: by-address, namespace: argocd}
spec:
  sourceNamespaces: [tenant-a]
  sourceRepos: ["*"]
  destinations: [{server: %q, namespace: tenant-a}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: attack-agent, namespace: cluster1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: towline-agent}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:open-cluster-management:cluster:cluster1:addon:towline-agent"}]
---
# As Open Cluster Management 1.2 makes it: for the group of the agents of all clusters too.
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: attack-agent, namespace: cluster2}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: towline-agent}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:open-cluster-management:addon:towline-agent"}]
`, f.Git.URL(fleet.AppsRepo), allowedAddress)
}

// victimManifest is an ApplicationSet of a different tenant, for cluster2.
func victimManifest() string {
	GinkgoHelper()
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, namespace: argocd}
spec:
  generators: [{list: {elements: [{name: cluster2}]}}]
  template:
    metadata:
      name: %s
      labels: {%s: "true"}
      annotations: {%s: cluster2, %s: "true"}
    spec: %s
`, victimSet, victim, apis.LabelPull, apis.AnnotationCluster, apis.AnnotationSkipReconcile, spec("guestbook", victimSet))
}

// tenantApp returns an Application within the tenant's rights, with the edits of an attack.
func tenantApp(name string, edits ...func(*fixture.ApplicationBuilder)) *argocd.Application {
	s := map[string]any{
		"project":     tenantNamespace,
		"source":      map[string]any{"repoURL": f.Git.URL(fleet.AppsRepo), "path": "guestbook", "targetRevision": "main"},
		"destination": map[string]any{"server": apis.InClusterServer, "namespace": tenantNamespace},
	}
	raw, err := json.Marshal(s)
	Expect(err).NotTo(HaveOccurred())
	b := fixture.Application(name).Namespace(tenantNamespace).Cluster("cluster1").Spec(string(raw))
	for _, edit := range edits {
		edit(b)
	}
	app := b.Obj()
	app.UID = ""
	return app
}

// submit creates the Application as the tenant, and removes it when the spec ends.
func submit(ctx context.Context, tenant client.Client, app *argocd.Application) {
	GinkgoHelper()
	Expect(tenant.Create(ctx, app)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(client.IgnoreNotFound(hub.Delete(ctx, app))).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		// The agent may not read the refused resources, and Towline would wait for 20 minutes.
		Expect(client.IgnoreNotFound(hub.Delete(ctx, workOf(app)))).To(Succeed())
		Eventually(ctx, read(hub, workOf(app))).Should(BeNil())
	})
}

// expectForbidden waits until the Application shows why it is not sent.
func expectForbidden(ctx context.Context, app *argocd.Application, says string) {
	GinkgoHelper()
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", apis.ConditionPropagationForbiddenError), HaveField("Message", ContainSubstring(says))))))
	now, err := read(hub, app)(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, c := range now.Status.Conditions {
		if c.Type == apis.ConditionPropagationForbiddenError {
			AddReportEntry("the tenant sees", c.Message)
		}
	}
}

// snapshot returns the other tenant's objects on the hub and on its cluster as JSON. Fields that change when the
// tenant's own Argo CD compares with Git are left out.
func snapshot(ctx context.Context) string {
	GinkgoHelper()
	app, err := read(hub, named(victim))(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(app).NotTo(BeNil(), "the victim's Application is gone")
	key := client.ObjectKeyFromObject(workOf(app))
	set := types.NamespacedName{Namespace: argocdNamespace, Name: victimSet}
	out := ""
	for _, o := range []struct {
		on         client.Client
		apiVersion string
		kind       string
		key        types.NamespacedName
	}{
		{hub, "argoproj.io/v1alpha1", "Application", client.ObjectKeyFromObject(app)},
		{hub, "argoproj.io/v1alpha1", "ApplicationSet", set},
		{hub, "work.open-cluster-management.io/v1", "ManifestWork", key},
		{hub, "apps.open-cluster-management.io/v1alpha1", "MulticlusterApplicationSetReport", set},
		{hub, "v1", "Namespace", types.NamespacedName{Name: argocdNamespace}},
		{cluster["cluster2"], "argoproj.io/v1alpha1", "Application", client.ObjectKeyFromObject(app)},
		{cluster["cluster2"], "apps/v1", "Deployment", types.NamespacedName{Namespace: victimSet, Name: "guestbook-ui"}},
	} {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(o.apiVersion)
		u.SetKind(o.kind)
		Expect(o.on.Get(ctx, o.key, u)).To(Succeed(), "%s %s", o.kind, o.key)
		still(u)
		data, err := json.MarshalIndent(u, "", " ")
		Expect(err).NotTo(HaveOccurred())
		out += string(data) + "\n"
	}
	return out
}

// still removes the fields that change when an Argo CD compares again: the time of the comparison, and counters of
// writes.
func still(u *unstructured.Unstructured) {
	u.SetResourceVersion("")
	u.SetManagedFields(nil)
	u.SetGeneration(0)
	unstructured.RemoveNestedField(u.Object, "status", "reconciledAt")
	if u.GetKind() == "ManifestWork" {
		unstructured.RemoveNestedField(u.Object, "status", "resourceStatus")
	}
}

// harmless runs an attack. It expects no change of the other tenant's objects, and a running Towline process.
func harmless(ctx context.Context, attack func()) {
	GinkgoHelper()
	before, pid := snapshot(ctx), tow.PID()
	attack()
	Expect(snapshot(ctx)).To(Equal(before))
	// Towline still works: a new Application gets conditions.
	app := tenantApp(fmt.Sprintf("alive-%d", time.Now().UnixNano()), func(b *fixture.ApplicationBuilder) { b.Cluster("cluster3") })
	Expect(hub.Create(ctx, app)).To(Succeed())
	Eventually(ctx, read(hub, app)).Should(HaveField("Status.Conditions", Not(BeEmpty())))
	Expect(hub.Delete(ctx, app)).To(Succeed())
	Expect(tow.PID()).To(Equal(pid), "Towline was restarted")
	Expect(snapshot(ctx)).To(Equal(before))
}

// denied expects the API server's refusal.
func denied(err error, says string) {
	GinkgoHelper()
	Expect(err).To(HaveOccurred())
	Expect(apierrors.IsForbidden(err) || apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(ContainSubstring(says)))
	AddReportEntry("the API server says", err.Error())
}

// withoutPolicies removes the admission policies from the hub until the spec ends. Each API server notices the removal
// at a different time, and with works in Maestro a separate API server checks changes of works. Two changes of the
// agent therefore show the removal: a change of a work's labels, and a change of its cluster.
func withoutPolicies(ctx context.Context, agent client.Client, w *workv1.ManifestWork) {
	GinkgoHelper()
	changes := []func(context.Context) error{func(ctx context.Context) error {
		return agent.Patch(ctx, w.DeepCopy(), merge(`{"metadata":{"labels":{"probe":"x"}}}`), client.DryRunAll)
	}, func(ctx context.Context) error {
		c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
		if err := agent.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, apis.AnnotationPaused, "true")
		return agent.Update(ctx, c, client.DryRunAll)
	}}
	expectPolicies(ctx, changes)
	// The bindings for clusters and for works are created last: when both are back, all are back.
	var bindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	for _, of := range []string{"applications", "applicationsets", "applicationreports", "reports", "clusters", "works"} {
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "towline-" + of}}
		Expect(hub.Get(ctx, client.ObjectKeyFromObject(binding), binding)).To(Succeed())
		Expect(hub.Delete(ctx, binding)).To(Succeed())
		bindings = append(bindings, binding)
	}
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		for _, binding := range bindings {
			binding.UID, binding.ResourceVersion = "", ""
			Expect(hub.Create(ctx, binding)).To(Succeed())
		}
		expectPolicies(ctx, changes)
	})
	for _, change := range changes {
		Eventually(ctx, change).Should(Succeed())
	}
}

// expectPolicies waits until an admission policy refuses each of the changes.
func expectPolicies(ctx context.Context, changes []func(context.Context) error) {
	GinkgoHelper()
	for _, change := range changes {
		Eventually(ctx, change).Should(MatchError(ContainSubstring("ValidatingAdmissionPolicy")))
	}
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// raw returns an object with only its kind and name, to patch.
func raw(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// hostile returns a feedback value.
func hostile(name string, value workv1.FieldValue) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: value}
}

// lies returns a work status from a dishonest agent: with false values for the agent's Application and for the
// victim's.
func lies(values ...workv1.FeedbackValue) workv1.ManifestWorkStatus {
	s := workv1.ManifestWorkStatus{}
	for _, name := range []string{"mine", victim} {
		m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{
			Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Resource: "applications", Namespace: argocdNamespace, Name: name,
		}, Conditions: []metav1.Condition{}}
		m.StatusFeedbacks.Values = []workv1.FeedbackValue{hostile("healthStatus", workv1.FieldValue{Type: workv1.String, String: ptr.To("Degraded")})}
		if name == "mine" {
			m.StatusFeedbacks.Values = values
		}
		s.ResourceStatus.Manifests = append(s.ResourceStatus.Manifests, m)
	}
	return s
}
