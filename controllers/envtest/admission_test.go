package envtest_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// administrators is the group with all rights.
const administrators = "system:masters"

// as returns a client that impersonates the user and the groups.
func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(hub)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// documents returns the objects of a file in the folder deploy.
func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("../../deploy/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}

// applyPolicy creates the objects of a file in deploy/admission on the hub. They are deleted at the end of the test.
func applyPolicy(t *testing.T, file string) {
	t.Helper()
	for _, obj := range documents(t, "admission/"+file) {
		create(t, obj)
	}
}

// mayDo gives the subject rights in the whole cluster until the end of the test.
func mayDo(t *testing.T, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: unique("rights")}, Rules: rules}
	create(t, role)
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	})
}

// asTowline returns a client for Towline's ServiceAccount of the given name, with the rights from deploy/rbac.
func asTowline(t *testing.T, namespace, name string) client.Client {
	t.Helper()
	for _, obj := range slices.Concat(documents(t, "rbac/role.yaml"), documents(t, "rbac/decisions.yaml")) {
		if role := (&rbacv1.ClusterRole{}); obj.GetKind() == "ClusterRole" {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, role); err != nil {
				t.Fatal(err)
			}
			mayDo(t, rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}, role.Rules...)
		}
	}
	return as(t, "system:serviceaccount:"+namespace+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

func makeApplication(t *testing.T, namespace string) *argocd.Application {
	t.Helper()
	app := &argocd.Application{}
	app.Namespace, app.Name = namespace, unique("operation")
	app.Spec.Raw = []byte(specOf("default", "https://x"))
	create(t, app)
	return app
}

// TestTowlineMayOnlyIdentifyOrRemoveOperations: Towline may identify an operation, and remove an operation. An
// operation deploys any source named in the operation, so Towline may change no other field. The name and the namespace
// of the ServiceAccount do not matter.
func TestTowlineMayOnlyIdentifyOrRemoveOperations(t *testing.T) {
	applyPolicy(t, "applications.yaml")
	for _, account := range []string{"argocd/towline-controller", "elsewhere/acme-delivery"} {
		t.Run(account, func(t *testing.T) {
			namespace, name, _ := strings.Cut(account, "/")
			testOperations(t, asTowline(t, namespace, name))
		})
	}
}

func testOperations(t *testing.T, towline client.Client) {
	t.Helper()
	const (
		user     = `{"name":"reason","value":"because"}`
		identity = `{"name":"apps.open-cluster-management.io/request","value":"1-a"}`
		sync     = `{"initiatedBy":{"username":"admin"},"sync":{"revision":"main"},"info":[` + user + `]}`
	)
	ns := namespace(t, unique("apps"))
	try := func(app *argocd.Application, operation string) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"operation":`+operation+`}`))
		return towline.Patch(t.Context(), app.DeepCopy(), patch, client.DryRunAll)
	}
	heeded := makeApplication(t, ns)
	// An API server that does not know the rights of the ServiceAccount yet refuses the patch too, for another reason.
	NewWithT(t).Eventually(func() error { return try(heeded, `{"sync":{}}`) }, soon, tick).
		Should(MatchError(ContainSubstring("of an Application's operation, Towline sets")), "the policy is not heeded")
	for title, tc := range map[string]struct {
		before, operation string
		denied            bool
	}{
		"a new one":                     {operation: `{"sync":{}}`, denied: true},
		"a new one without anything":    {operation: `{}`, denied: true},
		"another source":                {before: sync, operation: `{"sync":{"source":{"repoURL":"https://x"}}}`, denied: true},
		"another revision":              {before: sync, operation: `{"sync":{"revision":"other"}}`, denied: true},
		"pruning":                       {before: sync, operation: `{"sync":{"prune":true}}`, denied: true},
		"a retry":                       {before: sync, operation: `{"retry":{"limit":9}}`, denied: true},
		"in the name of somebody else":  {before: sync, operation: `{"initiatedBy":{"username":"other"}}`, denied: true},
		"in nobody's name":              {before: sync, operation: `{"initiatedBy":null}`, denied: true},
		"without what somebody said":    {before: sync, operation: `{"info":[` + identity + `]}`, denied: true},
		"with what nobody said":         {before: sync, operation: `{"info":[` + user + `,{"name":"reason","value":"none"}]}`, denied: true},
		"an identity":                   {before: sync, operation: `{"info":[` + user + `,` + identity + `]}`},
		"an identity where nothing was": {before: `{"sync":{}}`, operation: `{"info":[` + identity + `]}`},
		"its end":                       {before: sync, operation: `null`},
		"the same":                      {before: sync, operation: sync},
	} {
		t.Run(title, func(t *testing.T) {
			app := makeApplication(t, ns)
			if tc.before != "" {
				request(t, app, tc.before)
			}
			err := try(app, tc.operation)
			if !tc.denied && err != nil {
				t.Error(err)
			}
			if tc.denied && (err == nil || !strings.Contains(err.Error(), "of an Application's operation, Towline sets")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestUsersOutsideTheRulesForTowline: the rules for Towline do not apply to administrators, or to users who may write
// Applications but no reports.
func TestUsersOutsideTheRulesForTowline(t *testing.T) {
	applyPolicy(t, "applications.yaml")
	app := makeApplication(t, namespace(t, unique("apps")))
	change := func(c client.Client) error {
		return c.Patch(t.Context(), app.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"project":"other"}}`)), client.DryRunAll)
	}
	towline := asTowline(t, "argocd", "towline-controller")
	g := NewWithT(t)
	g.Eventually(func() error { return change(towline) }, soon, tick).Should(MatchError(ContainSubstring("Towline does not change the spec")))
	patches := func(group string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"*"}}
	}
	mayDo(t, rbacv1.Subject{Kind: "User", Name: "editor"}, patches(argocd.GroupVersion.Group, "applications"))
	mayDo(t, rbacv1.Subject{Kind: "User", Name: "owner"}, patches(argocd.GroupVersion.Group, "*"), patches(apis.Group, "*"))
	for title, c := range map[string]client.Client{
		"an administrator": as(t, "admin", administrators),
		"an editor":        as(t, "editor"),
		"an owner of all":  as(t, "owner"),
	} {
		g.Eventually(func() error { return change(c) }, soon, tick).Should(Succeed(), title)
	}
}

// agentsOf returns the identities that Open Cluster Management (1.2) gives to the agents of a cluster, with all rights.
func agentsOf(t *testing.T, cluster string) map[string]client.Client {
	t.Helper()
	addon := "system:open-cluster-management:cluster:" + cluster + ":addon:a"
	return map[string]client.Client{
		"by a certificate": as(t, "system:open-cluster-management:"+cluster+":agent", administrators,
			"system:open-cluster-management:"+cluster, "system:open-cluster-management:managed-clusters"),
		"by AWS IAM":                     as(t, cluster, administrators, "open-cluster-management:"+cluster),
		"an add-on's, by a certificate":  as(t, addon+":agent:x", administrators, addon, "system:open-cluster-management:addon:a"),
		"an add-on's, by a signer's own": as(t, addon+":agent:x", administrators),
		"an add-on's, by a token":        account(t, cluster),
	}
}

// account returns a client for a ServiceAccount of a namespace, with all rights.
func account(t *testing.T, namespace string) client.Client {
	t.Helper()
	return as(t, "system:serviceaccount:"+namespace+":a-agent", administrators, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// TestIdentitiesOfAClustersAgents: an agent may change only the finalizers and the status of Towline's works. The rule
// holds for every registration method of Open Cluster Management (1.2). All other users may change everything.
func TestIdentitiesOfAClustersAgents(t *testing.T) {
	applyPolicy(t, "works.yaml")
	c := cluster(t)
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Name, Name: "w", Labels: map[string]string{apis.LabelPull: "true"},
	}}
	create(t, w)
	change := func(c client.Client, patch string) error {
		return c.Patch(t.Context(), w.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	const spec, finalizers = `{"spec":{"deleteOption":{"propagationPolicy":"Orphan"}}}`, `{"metadata":{"finalizers":["example.com/a"]}}`
	g := NewWithT(t)
	for title, agent := range agentsOf(t, c.Name) {
		g.Eventually(func() error { return change(agent, spec) }, soon, tick).
			Should(MatchError(ContainSubstring("a cluster's agent may not change the spec")), title)
		g.Expect(change(agent, finalizers)).To(Succeed(), title)
	}
	for title, other := range map[string]client.Client{
		"an administrator":                   as(t, "admin", administrators),
		"a ServiceAccount elsewhere":         account(t, "argocd"),
		"of a group of another product":      as(t, "x", administrators, "open-cluster-management-observability"),
		"a ServiceAccount of a similar name": account(t, c.Name+"-x"),
	} {
		g.Expect(change(other, spec)).To(Succeed(), title)
	}
}

// TestRightsOfAnAgentOnItsManagedCluster: an agent may not change the fields of its ManagedCluster that select the
// rules for the cluster. While the cluster joins, the agent may add addresses.
func TestRightsOfAnAgentOnItsManagedCluster(t *testing.T) {
	applyPolicy(t, "clusters.yaml")
	c := cluster(t, withURL("https://mine.example.com"), withLabel("env", "dev"), func(c *clusterv1.ManagedCluster) {
		c.Annotations = map[string]string{apis.AnnotationArgoCDNamespace: "argocd", "example.com/a": "b"}
		c.Spec.Taints = []clusterv1.Taint{{Key: "quarantine", Effect: clusterv1.TaintEffectNoSelect}}
	})
	joining := cluster(t, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	denied := cluster(t, withURL("https://mine.example.com"), func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	change := func(by client.Client, of *clusterv1.ManagedCluster, patch string) error {
		return by.Patch(t.Context(), of.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	const address = `{"spec":{"managedClusterClientConfigs":[{"url":"https://theirs.example.com"}]}}`
	refused := map[string]string{
		`{"metadata":{"labels":{"env":"prod"}}}`:                                                "labels of its ManagedCluster",
		`{"metadata":{"labels":{"local-cluster":"true"}}}`:                                      "labels of its ManagedCluster",
		`{"metadata":{"labels":null}}`:                                                          "labels of its ManagedCluster",
		`{"metadata":{"annotations":{"apps.open-cluster-management.io/paused":"true"}}}`:        "annotations of Towline",
		`{"metadata":{"annotations":{"apps.open-cluster-management.io/argocd-namespace":"x"}}}`: "annotations of Towline",
		`{"metadata":{"annotations":null}}`:                                                     "annotations of Towline",
		address:                                                                                 "spec.managedClusterClientConfigs",
		`{"spec":{"managedClusterClientConfigs":null}}`:                                         "spec.managedClusterClientConfigs",
		`{"spec":{"taints":null}}`:                                                              "the taints of its ManagedCluster",
		`{"spec":{"taints":[{"key":"quarantine","effect":"PreferNoSelect"}]}}`:                  "the taints of its ManagedCluster",
		`{"spec":{"taints":[{"key":"quarantine","effect":"NoSelect","timeAdded":"2000-01-01T00:00:00Z"}]}}`:    "the taints of its ManagedCluster",
		`{"spec":{"taints":[{"key":"quarantine","effect":"NoSelect"},{"key":"another","effect":"NoSelect"}]}}`: "the taints of its ManagedCluster",
	}
	agents := agentsOf(t, c.Name)
	agents["for it, by gRPC"] = as(t, "system:serviceaccount:open-cluster-management-hub:grpc-server-sa", administrators)
	g := NewWithT(t)
	for title, agent := range agents {
		for patch, says := range refused {
			g.Eventually(func() error { return change(agent, c, patch) }, soon, tick).Should(MatchError(ContainSubstring(says)), title+": "+patch)
		}
		for _, patch := range []string{
			`{"metadata":{"annotations":{"agent.open-cluster-management.io/x":"y"}}}`, `{"metadata":{"annotations":{"example.com/a":null}}}`,
			`{"spec":{"leaseDurationSeconds":30}}`, `{"spec":{"taints":[{"key":"quarantine","effect":"NoSelect"}]}}`,
			`{"spec":{"managedClusterClientConfigs":[{"url":"https://mine.example.com","caBundle":"eA=="}]}}`,
		} {
			g.Expect(change(agent, c, patch)).To(Succeed(), title+": "+patch)
		}
	}
	grpc := agents["for it, by gRPC"]
	g.Expect(change(grpc, joining, address)).To(Succeed(), "its first")
	g.Expect(change(grpc, denied, `{"spec":{"managedClusterClientConfigs":[{"url":"https://mine.example.com"},{"url":"https://more.example.com"}]}}`)).
		To(Succeed(), "one more")
	g.Expect(change(grpc, denied, address)).To(MatchError(ContainSubstring("spec.managedClusterClientConfigs")), "another")
	g.Expect(change(grpc, joining, `{"metadata":{"labels":{"env":"prod"}}}`)).To(MatchError(ContainSubstring("labels of its ManagedCluster")))
	for patch := range refused {
		g.Expect(change(as(t, "admin", administrators), c, patch)).To(Succeed(), "an administrator: "+patch)
	}
}

// TestAnAgentReportsOnlyForItsCluster: an agent may report only for its own cluster, even if RBAC permits all agents to
// create reports.
func TestAnAgentReportsOnlyForItsCluster(t *testing.T) {
	applyPolicy(t, "applicationreports.yaml")
	a, b := cluster(t), cluster(t)
	const all = "system:open-cluster-management:addon:towline-agent"
	mayDo(t, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: all}, rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"applicationreports"}, Verbs: []string{"create"}})
	own := "system:open-cluster-management:cluster:" + a.Name + ":addon:towline-agent"
	agent := as(t, own+":agent:x", own, all)
	report := func(namespace string) error {
		r := &v1alpha1.ApplicationReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}}
		r.Application.Namespace, r.Application.Name, r.Application.UID, r.Application.ResourceVersion = "argocd", "x", "0", "1"
		r.ObservedAt = "2026-01-02T03:04:05Z"
		return agent.Create(t.Context(), r, client.DryRunAll)
	}
	w := NewWithT(t)
	w.Eventually(func() error { return report(b.Name) }, soon, tick).Should(MatchError(ContainSubstring("is not of cluster " + b.Name)))
	w.Expect(report(a.Name)).To(Succeed())
}
