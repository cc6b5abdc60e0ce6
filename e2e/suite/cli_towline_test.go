package suite

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/view"
)

// shownTenant may read only the Applications, ApplicationSets, reports and events in the namespace of the tenant's
// Applications.
const shownTenant = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shown-tenant, namespace: argocd}
rules:
- {apiGroups: [argoproj.io], resources: [applications, applicationsets], verbs: [get, list, watch]}
- {apiGroups: [apps.open-cluster-management.io], resources: [multiclusterapplicationsetreports], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [events], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shown-tenant, namespace: argocd}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: shown-tenant}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: shown-tenant}]
`

// cellOf returns the cell of an ApplicationSet and a cluster, or nil if the matrix has no such cell.
func cellOf(m *view.Matrix, set, cluster string) *view.Cell {
	column := slices.Index(m.Sets, set)
	for _, group := range m.Groups {
		for _, line := range group.Clusters {
			if line.Cluster == cluster && column >= 0 {
				return &line.Cells[column]
			}
		}
	}
	return nil
}

var _ = Describe("kubectl towline shows a fleet", Ordered, func() {
	const set = "shown"
	var plugin, tenant string

	// once runs kubectl towline without retries, and returns its output and its exit code. Commands that follow changes
	// must run only once.
	once := func(ctx context.Context, kubeconfig, command string) (string, int) {
		GinkgoHelper()
		return runs(ctx, plugin, kubeconfig, append(strings.Fields(command), "--namespace", argocdNamespace)...)
	}
	// shows waits until a command ends with the given code and its output matches.
	shows := func(ctx context.Context, kubeconfig, command string, code int, says OmegaMatcher) {
		GinkgoHelper()
		expectRuns(ctx, plugin, kubeconfig, append(strings.Fields(command), "--namespace", argocdNamespace), code, says)
	}
	// tells waits until a command ends with the given code and its output contains all texts.
	tells := func(ctx context.Context, kubeconfig, command string, code int, all ...string) {
		GinkgoHelper()
		shows(ctx, kubeconfig, command, code, WithTransform(func(out string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(text string) bool { return strings.Contains(out, text) })
		}, BeEmpty()))
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		plugin, err = towline.BuildPlugin(ctx, f)
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, shownTenant)
		tenant, err = f.Hub.UserKubeconfig("shown-tenant")
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, shownSet(set, "guestbook"))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "applicationset", "--namespace", argocdNamespace, set, "--wait=false")
			Expect(err).NotTo(HaveOccurred())
			for _, on := range []string{"cluster1", "cluster2"} {
				Eventually(ctx, read(hub, named(set+"-"+on))).Should(BeNil())
			}
		})
		Eventually(ctx, read(hub, reportOf(set))).ShouldNot(BeNil())
	})

	It("follows an ApplicationSet until all Applications are well, and shows the ApplicationSet", func(ctx SpecContext) {
		admin := f.Hub.Kubeconfig()
		out, code := once(ctx, admin, "status shown -w --timeout 4m")
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("2 Applications: 2 synced, 2 healthy"), ContainSubstring("step 2: 1 of 1 healthy")))
		// From here on, the fleet is well except for moments: the last operation may still run, a RollingSync may
		// request another sync, or a cluster's heartbeat may be late. Each command waits until the fleet is well again,
		// and then its output is checked.
		tells(ctx, admin, "tree shown --problems", 0, "all is well")
		tells(ctx, admin, "status shown", 0, "✓ shown-cluster1", "✓ shown-cluster2", "Healthy")
		tells(ctx, admin, "get apps shown-cluster1 shown-cluster2", 0, "Synced", "Healthy")
		tells(ctx, admin, "tree shown", 0, "ManifestWork cluster1/shown-cluster1-", "Application argocd/shown-cluster2 on cluster2 (Synced, Healthy)")
		tells(ctx, admin, "tree app/shown-cluster1 --compact", 0, "✓ Application argocd/shown-cluster1 on cluster1 (Synced, Healthy)")
		// The spec ignores leftovers of other specs on the clusters.
		well := HaveField("Counts", view.Counts{Applications: 1, OK: 1})
		shows(ctx, admin, "matrix -o json", 0, WithTransform(func(out string) (cells []*view.Cell, err error) {
			var matrix view.Matrix
			err = json.Unmarshal([]byte(out), &matrix)
			for _, on := range []string{"cluster1", "cluster2"} {
				cells = append(cells, cellOf(&matrix, argocdNamespace+"/"+set, on))
			}
			return cells, err
		}, HaveExactElements(well, well)))
		shows(ctx, admin, "clusters", 0, And(MatchRegexp(`(?m)^\S cluster1\s`), MatchRegexp(`(?m)^\S cluster2\s`)))
		tells(ctx, admin, "events shown", 0, "application/argocd/shown-cluster1")
		tells(ctx, admin, "stats", 0, "namespace argocd", "health Healthy")
	})

	It("shows a broken cluster", func(ctx SpecContext) {
		admin := f.Hub.Kubeconfig()
		apply(ctx, shownSet(set, "not-there"))
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return conditionMessage(ctx, "shown-cluster2", "ComparisonError")
		}).ShouldNot(BeEmpty())
		Eventually(ctx, rowOf(set, "cluster2")).Should(HaveField("Conditions", ContainElement(HaveField("Type", "ComparisonError"))))
		tells(ctx, admin, "status shown", 2, "✗ shown-cluster2", "ComparisonError", "1 stopped")
		out, code := once(ctx, admin, "status shown -w --timeout 5s")
		Expect(code).To(Equal(2), out)
		Expect(out).To(ContainSubstring("not all is well after 5s"))
		tells(ctx, admin, "why shown-cluster2", 2, "cluster's Argo CD", "not-there")
		tells(ctx, admin, "get apps --problems --cluster cluster2", 0, "shown-cluster2", "ComparisonError")
		tells(ctx, admin, "tree shown --problems", 0, "✗ Application argocd/shown-cluster2")
		tells(ctx, admin, "matrix -A --problems --group-by local-cluster", 0, "✗ cluster2")
		tells(ctx, admin, "clusters cluster2", 0, "✗ cluster2", "ComparisonError")
		tells(ctx, admin, "stats -A", 0, "reason ComparisonError")
	})

	It("shows a tenant the same for the tenant's namespace, and names the unreadable objects", func(ctx SpecContext) {
		tells(ctx, tenant, "status shown", 2, "✗ shown-cluster2", "ComparisonError")
		tells(ctx, tenant, "get apps --problems", 0, "shown-cluster2")
		tells(ctx, tenant, "tree shown --compact", 0, "✗ Application argocd/shown-cluster2", "? not allowed: list manifestworks")
		tells(ctx, tenant, "matrix --problems", 0, "✗ cluster2")
		tells(ctx, tenant, "events shown", 0, "application/argocd/shown-cluster1")
		tells(ctx, tenant, "stats", 0, "reason ComparisonError")
		tells(ctx, tenant, "clusters --one-namespace", 0, "✗ cluster2", "? not allowed: list managedclusters")
		tells(ctx, tenant, "clusters", 4, "forbidden")
		tells(ctx, tenant, "get apps -A", 4, "forbidden")
	})

	It("follows until the cluster is fixed", func(ctx SpecContext) {
		follows, err := gexec.Start(exec.CommandContext(ctx, plugin, "status", set, "-w", "--timeout", "4m",
			"--kubeconfig", tenant, "--namespace", argocdNamespace), GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(follows.Kill)
		Eventually(ctx, follows.Out).Should(gbytes.Say("✗ shown-cluster2")) // the command runs before the repair
		apply(ctx, shownSet(set, "guestbook"))
		Eventually(ctx, follows).WithTimeout(4 * time.Minute).Should(gexec.Exit(0))
		out := string(follows.Out.Contents())
		AddReportEntry("$ kubectl towline status " + set + " -w\n" + out)
		Expect(out).To(And(ContainSubstring("✓ shown-cluster2"), ContainSubstring("2 Applications: 2 synced, 2 healthy")))
	})
})

// shownSet returns an ApplicationSet. It syncs the guestbook to cluster1, and then the folder second to cluster2.
func shownSet(set, second string) string {
	GinkgoHelper()
	step := func(cluster string) map[string]any {
		return map[string]any{"matchExpressions": []any{map[string]any{"key": "on", "operator": "In", "values": []any{cluster}}}}
	}
	data, err := json.Marshal(map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": metav1.ObjectMeta{Name: set, Namespace: argocdNamespace},
		"spec": map[string]any{
			"generators": []any{map[string]any{"list": map[string]any{"elements": []any{
				map[string]any{"name": "cluster1", "path": "guestbook"}, map[string]any{"name": "cluster2", "path": second},
			}}}},
			"strategy": map[string]any{"type": "RollingSync", "rollingSync": map[string]any{"steps": []any{step("cluster1"), step("cluster2")}}},
			"template": map[string]any{
				"metadata": map[string]any{
					"name":        set + "-{{name}}",
					"labels":      map[string]any{apis.LabelPull: "true", "on": "{{name}}"},
					"annotations": map[string]any{apis.AnnotationCluster: "{{name}}", apis.AnnotationSkipReconcile: "true"},
					"finalizers":  []any{apis.FinalizerResources},
				},
				"spec": map[string]any{
					"project":     "default",
					"source":      map[string]any{"repoURL": f.Git.URL(fleet.AppsRepo), "path": "{{path}}", "targetRevision": "main"},
					"destination": map[string]any{"server": apis.InClusterServer, "namespace": set},
					"syncPolicy":  map[string]any{"automated": map[string]any{}, "syncOptions": []any{"CreateNamespace=true"}},
				},
			},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}
