package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
)

// liveApp has the deployed resources of the Application. The hub has a ConfigMap with the same name and the value
// "the-hub".
const liveApp = `
apiVersion: v1
kind: ConfigMap
metadata: {name: whose}
data: {whose: the-cluster}
---
apiVersion: v1
kind: Pod
metadata: {name: alone}
spec:
  containers: [{name: main, image: registry.example.com/guestbook:1.0.0}]
`

const notPart = "not found as part of application"

var _ = Describe("The hub's argocd-server, with a way to a cluster", Serial, func() {
	const name, account = "live", "argocd-manager"
	var key string

	ask := func(ctx context.Context, method, path string, query url.Values, body string) string {
		return string(request(ctx, method, "/api/v1/applications/"+name+path+"?"+query.Encode(), key, body))
	}
	resource := func(method, kind, resourceName string) func(context.Context) string {
		return func(ctx context.Context) string {
			return ask(ctx, method, "/resource", url.Values{
				"version": {"v1"}, "kind": {kind}, "namespace": {name}, "resourceName": {resourceName}, "patchType": {"application/merge-patch+json"},
			}, `"{\"data\":{\"note\":\"changed\"}}"`)
		}
	}
	manifest := resource(http.MethodGet, "ConfigMap", "whose")
	refuseHub := func(ctx context.Context, value string) {
		_, err := f.Hub.Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", argocdNamespace, "--type", "merge",
			"--patch", `{"data":{"cluster.inClusterEnabled":`+value+`}}`)
		Expect(err).NotTo(HaveOccurred())
	}
	goTo := func(ctx context.Context, destination string) {
		GinkgoHelper()
		patch := fmt.Sprintf(`{"spec":{"destination":%s}}`, destination)
		Expect(hub.Patch(ctx, named(name), client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
	}
	// notTheHubs returns argocd-server's answer, and stops the spec if the answer has the data of the hub's ConfigMap.
	notTheHubs := func(ctx context.Context) (string, error) {
		out := manifest(ctx)
		if strings.Contains(out, "the-hub") {
			return out, StopTrying("argocd-server shows the hub's ConfigMap: " + out)
		}
		return out, nil
	}
	// refuses waits until argocd-server refuses, and checks every earlier answer.
	refuses := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, notTheHubs).WithPolling(time.Millisecond).Should(ContainSubstring(notPart))
	}

	It("shows the cluster's resources within the rights of the account, and never the hub's resources", func(ctx SpecContext) {
		needArgoCD3("argocd-server's connection to a cluster")
		key = token(ctx)
		_, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{"live/all.yaml": liveApp}, "Add what can be looked at")
		Expect(err).NotTo(HaveOccurred())
		namespaceOn(ctx, hub, name)
		hubs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "whose"}, Data: map[string]string{"whose": "the-hub"}}
		Expect(hub.Create(ctx, hubs)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, hubs)).To(Succeed()) })

		withReadTokens(ctx, account, "cluster1")
		asks(ctx, account)
		DeferCleanup(asks, "")
		Eventually(ctx, read(hub, secretOf("cluster1"))).Should(configured(ContainSubstring("bearerToken")))
		shower, err := towline.Run(ctx, f, binary, "towline-live",
			"--controllers=resourcetree", "--leader-elect=false", "--argocd-live-resources",
			"--argocd-redis="+settings(map[string]string{"address": f.Hub.RedisAddress()}))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(shower.Stop)
		loadAgent(ctx, argocdNamespace, "cluster1")
		byName := strings.Replace(specOf("default", "live", name), fmt.Sprintf(`"server":%q`, apis.InClusterServer), `"name":"cluster1"`, 1)
		Expect(byName).To(ContainSubstring(`"name":"cluster1"`))
		standalone(ctx, name, "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(byName) })
		expectHealthy(ctx, name)

		By("refusing everything while argocd-server may read the hub")
		argo := login(ctx)
		Eventually(ctx, func(ctx context.Context) string { return argo(ctx, "app", "resources", name) }).Should(
			And(ContainSubstring("whose"), ContainSubstring("alone")))
		Expect(manifest(ctx)).To(ContainSubstring(notPart))

		By("showing the cluster's when it may not")
		refuseHub(ctx, `"false"`)
		DeferCleanup(refuseHub, "null")
		Eventually(ctx, manifest).Should(ContainSubstring("the-cluster"))
		there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "whose"}}
		before, err := read(cluster["cluster1"], there)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(manifest(ctx)).To(ContainSubstring(string(before.UID)))
		AddReportEntry("the live manifest", manifest(ctx))
		AddReportEntry("argocd app get --output tree", argo(ctx, "app", "get", name, "--output", "tree"))

		By("asking the cluster for the logs of a Pod, and for events")
		const line = "a line of the Pod on cluster1"
		kubelet(ctx, "cluster1", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "alone"}}, "main", line)
		Eventually(ctx, func(ctx context.Context) string {
			return ask(ctx, http.MethodGet, "/pods/alone/logs", url.Values{"namespace": {name}, "container": {"main"}}, "")
		}).Should(And(ContainSubstring(`"content":"`+line+`"`), ContainSubstring(`"podName":"alone"`)))
		events := ask(ctx, http.MethodGet, "/events", url.Values{
			"resourceUID": {"/ConfigMap/" + name + "/whose"}, "resourceNamespace": {name}, "resourceName": {"whose"}}, "")
		Expect(json.Valid([]byte(events))).To(BeTrue())
		Expect(events).To(ContainSubstring(`"items":null`), "docs/agent.md says that there are none")
		AddReportEntry("argocd app diff", argo(ctx, "app", "diff", name))

		By("leaving to the cluster what the account may")
		for method, verb := range map[string]string{http.MethodPost: "patch", http.MethodDelete: "delete"} {
			out := resource(method, "ConfigMap", "whose")(ctx)
			AddReportEntry("to "+verb, out)
			Expect(out).To(And(ContainSubstring("system:serviceaccount:default:"+account), ContainSubstring("cannot "+verb)))
		}
		Expect(read(cluster["cluster1"], there)(ctx)).To(And(HaveField("UID", before.UID), HaveField("Data", before.Data)))
		_, err = f.Cluster("cluster1").Kubectl(ctx, "create", "rolebinding", account+"-edits", "--namespace="+name,
			"--clusterrole=edit", "--serviceaccount=default:"+account)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, resource(http.MethodPost, "ConfigMap", "whose")).Should(
			And(ContainSubstring(`\"note\":\"changed\"`), ContainSubstring(string(before.UID))))

		By("refusing everything once the destination is the in-cluster address")
		goTo(ctx, fmt.Sprintf(`{"name":null,"server":%q}`, apis.InClusterServer))
		refuses(ctx)
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			Expect(resource(method, "ConfigMap", "whose")(ctx)).To(ContainSubstring(notPart), method)
		}

		By("refusing everything while the Secret has no credentials, and never showing the hub's while it is made anew")
		goTo(ctx, `{"name":"cluster1","server":null}`)
		Eventually(ctx, manifest).Should(ContainSubstring("the-cluster"))
		asks(ctx, "")
		refuses(ctx)
		asks(ctx, account)
		Eventually(ctx, manifest).Should(ContainSubstring("the-cluster"))
		secret, err := read(hub, secretOf("cluster1"))(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.Delete(ctx, secret)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) (string, error) {
			out, err := notTheHubs(ctx)
			if s, missing := read(hub, secretOf("cluster1"))(ctx); missing != nil || s == nil || s.UID == secret.UID {
				return "the Secret has not been made anew", err
			}
			return out, err
		}).WithPolling(time.Millisecond).Should(ContainSubstring("the-cluster"))

		By("refusing everything once argocd-server may read the hub again")
		refuseHub(ctx, "null")
		refuses(ctx)
		Expect(read(hub, hubs)(ctx)).To(HaveField("Data", hubs.Data))
	}, NodeTimeout(2*soon))
})

// kubelet plays the kubelet of a Pod's node until the spec ends, because KWOK has no kubelet. The server answers with a
// line of a container's log.
func kubelet(ctx context.Context, on string, pod *corev1.Pod, container, line string) {
	GinkgoHelper()
	log := "/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + container
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != log {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintln(w, time.Now().Format(time.RFC3339Nano), line)
	}))
	DeferCleanup(server.Close)
	there, err := read(cluster[on], pod)(ctx)
	Expect(err).NotTo(HaveOccurred())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: there.Spec.NodeName}}
	address := server.Listener.Addr().(*net.TCPAddr)
	reach := func(ctx context.Context, status string) {
		GinkgoHelper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":`+status+`}`))
		Expect(cluster[on].Status().Patch(ctx, node, patch)).To(Succeed())
	}
	DeferCleanup(reach, `{"addresses":null,"daemonEndpoints":null}`)
	reach(ctx, fmt.Sprintf(`{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%d}}}`,
		address.IP, address.Port))
}
