package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/fixture"
)

// treeNode is a node of argocd-server's tree.
type treeNode struct {
	Kind, Name, UID string
	ParentRefs      []struct{ Kind, Name, UID string }
}

var _ = Describe("The hub's argocd-server, with a way to a cluster of which the agent reads the tree", Serial, func() {
	const name, account = "live-tree", "argocd-manager"
	var key string

	ask := func(ctx context.Context, method, path string, query url.Values) string {
		return string(request(ctx, method, "/api/v1/applications/"+name+path+"?"+query.Encode(), key, `"{}"`))
	}
	// nodes returns a reader of the tree's nodes of a kind.
	nodes := func(kind string) func(context.Context) ([]treeNode, error) {
		return func(ctx context.Context) ([]treeNode, error) {
			var tree struct{ Nodes []treeNode }
			if err := json.Unmarshal([]byte(ask(ctx, http.MethodGet, "/resource-tree", nil)), &tree); err != nil {
				return nil, err
			}
			var out []treeNode
			for _, n := range tree.Nodes {
				if n.Kind == kind {
					out = append(out, n)
				}
			}
			return out, nil
		}
	}
	one := func(ctx context.Context, kind string) treeNode {
		GinkgoHelper()
		var found []treeNode
		Eventually(ctx, func(ctx context.Context) (_ []treeNode, err error) {
			found, err = nodes(kind)(ctx)
			return found, err
		}).Should(And(HaveLen(1), HaveEach(HaveField("ParentRefs", HaveLen(1)))), kind)
		return found[0]
	}
	reported := func(ctx context.Context) ([]v1alpha1.TreeNode, error) {
		report, err := read(hub, appReportOf(ctx, name))(ctx)
		if report == nil || err != nil {
			return nil, err
		}
		return report.Tree, nil
	}

	It("shows the children of a Deployment, with manifests, events and logs", func(ctx SpecContext) {
		needArgoCD3("argocd-server's connection to a cluster")
		key = token(ctx)
		withReadTokens(ctx, account, "cluster1")
		asks(ctx, account)
		DeferCleanup(asks, "")
		Eventually(ctx, read(hub, secretOf("cluster1"))).Should(configured(ContainSubstring("bearerToken")))
		shower, err := towline.Run(ctx, f, binary, "towline-live-tree",
			"--controllers=resourcetree", "--leader-elect=false", "--argocd-live-resources",
			"--argocd-redis="+settings(map[string]string{"address": f.Hub.RedisAddress()}))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(shower.Stop)
		refuseHub := func(ctx context.Context, value string) {
			_, err := f.Hub.Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", argocdNamespace, "--type", "merge",
				"--patch", `{"data":{"cluster.inClusterEnabled":`+value+`}}`)
			Expect(err).NotTo(HaveOccurred())
		}
		refuseHub(ctx, `"false"`)
		DeferCleanup(refuseHub, "null")

		By("reporting no tree without the option")
		plain := loadAgent(ctx, argocdNamespace, "cluster1")
		byName := strings.Replace(specOf("default", "guestbook", name), fmt.Sprintf(`"server":%q`, apis.InClusterServer), `"name":"cluster1"`, 1)
		Expect(byName).To(ContainSubstring(`"name":"cluster1"`))
		standalone(ctx, name, "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(byName) })
		expectHealthy(ctx, name)
		Eventually(ctx, nodes("Deployment")).Should(HaveLen(1))
		Consistently(ctx, reported, 2*treePause).Should(BeEmpty())
		Expect(nodes("ReplicaSet")(ctx)).To(BeEmpty())
		Expect(nodes("Pod")(ctx)).To(BeEmpty())
		plain.Stop()

		By("reporting the tree with it")
		cmdParams(ctx, "cluster1", f.Cluster("cluster1").RedisAddress())
		loadAgent(ctx, argocdNamespace, "cluster1", "--argocd-tree="+argocdNamespace)
		Eventually(ctx, reported).Should(ContainElement(HaveField("Kind", "Pod")))
		pod, set := one(ctx, "Pod"), one(ctx, "ReplicaSet")
		Expect(pod.ParentRefs[0].UID).To(Equal(set.UID))
		there := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: pod.Name}}
		live, err := read(cluster["cluster1"], there)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(live).To(HaveField("UID", BeEquivalentTo(pod.UID)))
		AddReportEntry("/api/v1/applications/live-tree/resource-tree", ask(ctx, http.MethodGet, "/resource-tree", nil))
		argo := login(ctx)
		AddReportEntry("argocd app get --output tree=detailed", argo(ctx, "app", "get", name, "--output", "tree=detailed"))

		By("showing the live manifest of the Pod, and leaving to the cluster what the account may")
		query := url.Values{"version": {"v1"}, "kind": {"Pod"}, "namespace": {name}, "resourceName": {pod.Name},
			"patchType": {"application/merge-patch+json"}}
		Eventually(ctx, func(ctx context.Context) string { return ask(ctx, http.MethodGet, "/resource", query) }).Should(ContainSubstring(pod.UID))
		refused := ask(ctx, http.MethodDelete, "/resource", query)
		AddReportEntry("to delete the Pod", refused)
		Expect(refused).To(And(ContainSubstring("system:serviceaccount:default:"+account), ContainSubstring("cannot delete")))
		Expect(read(cluster["cluster1"], there)(ctx)).To(HaveField("UID", live.UID))

		By("showing events of the Pod")
		events := url.Values{"resourceUID": {pod.UID}, "resourceNamespace": {name}, "resourceName": {pod.Name}}
		Eventually(ctx, func(ctx context.Context) string { return ask(ctx, http.MethodGet, "/events", events) }).Should(
			And(ContainSubstring(`"reason":"Scheduled"`), ContainSubstring(pod.UID)))

		By("showing logs of the Pod, by the Deployment")
		const line = "a line of a Pod that a Deployment has made"
		container := live.Spec.Containers[0].Name
		kubelet(ctx, "cluster1", there, container, line)
		Eventually(ctx, func(ctx context.Context) string {
			return ask(ctx, http.MethodGet, "/logs", url.Values{"namespace": {name}, "container": {container}, "group": {"apps"},
				"kind": {"Deployment"}, "resourceName": {"guestbook-ui"}})
		}).Should(And(ContainSubstring(`"content":"`+line+`"`), ContainSubstring(pod.Name)))

		By("following what happens on the cluster")
		Expect(cluster["cluster1"].Delete(ctx, live)).To(Succeed())
		Eventually(ctx, nodes("Pod")).Should(And(HaveLen(1), HaveEach(HaveField("Name", Not(Equal(pod.Name))))))
	}, NodeTimeout(2*soon))
})

// treePause is longer than the agent's delay before the agent reads a changed tree.
const treePause = 6 * time.Second

// cmdParams sets the address of the cluster's Redis in Argo CD's own ConfigMap, until the spec ends.
func cmdParams(ctx context.Context, on, redis string) {
	GinkgoHelper()
	patch := func(ctx context.Context, value string) {
		GinkgoHelper()
		_, err := f.Cluster(on).Kubectl(ctx, "patch", "configmap", "argocd-cmd-params-cm", "--namespace", fleet.ArgoCDNamespace,
			"--type", "merge", "--patch", `{"data":{"redis.server":`+value+`}}`)
		Expect(err).NotTo(HaveOccurred())
	}
	patch(ctx, fmt.Sprintf("%q", redis))
	DeferCleanup(patch, "null")
}
