package suite

import (
	"context"
	"fmt"
	"io"
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
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
)

// payments are the objects of a different tenant on cluster1. The event names no UID.
const payments = `
{apiVersion: v1, kind: Namespace, metadata: {name: payments}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: database, namespace: payments}, data: {secret: of-the-victim}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: database, namespace: payments}
spec:
  selector: {matchLabels: {app: database}}
  template:
    metadata: {labels: {app: database}}
    spec: {containers: [{name: main, image: registry.example.com/database:1.0.0}]}
---
apiVersion: v1
kind: Pod
metadata: {name: database, namespace: payments}
spec: {containers: [{name: main, image: registry.example.com/database:1.0.0}]}
---
apiVersion: v1
kind: Event
metadata: {name: without-uid, namespace: payments}
involvedObject: {kind: Pod, name: database, namespace: payments}
reason: OfTheVictim
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: edits, namespace: payments}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: argocd-manager, namespace: default}]
`

// projectFor returns an AppProject that permits a single cluster.
func projectFor(name, cluster string) string {
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{name: %s, namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
`, name, cluster)
}

// theft is a request to argocd-server for a resource of the victim.
type theft struct {
	method, path string
	query        url.Values
	body         string
}

// thefts are all ways to a resource by argocd-server's API, except for the terminal. The terminal finds the Pod in the
// same tree.
func thefts() map[string]theft {
	of := func(group, version, kind string, more ...string) url.Values {
		q := url.Values{"group": {group}, "version": {version}, "kind": {kind}, "namespace": {"payments"}, "resourceName": {"database"}}
		for i := 0; i < len(more); i += 2 {
			q.Set(more[i], more[i+1])
		}
		return q
	}
	events := func(uid string) url.Values {
		return url.Values{"resourceUID": {uid}, "resourceNamespace": {"payments"}, "resourceName": {"database"}}
	}
	const merge = "application/merge-patch+json"
	return map[string]theft{
		"get":                  {http.MethodGet, "/resource", of("", "v1", "ConfigMap"), ""},
		"patch":                {http.MethodPost, "/resource", of("", "v1", "ConfigMap", "patchType", merge), `"{\"data\":{\"stolen\":\"yes\"}}"`},
		"delete":               {http.MethodDelete, "/resource", of("", "v1", "Pod"), ""},
		"logs":                 {http.MethodGet, "/pods/database/logs", url.Values{"namespace": {"payments"}, "container": {"main"}}, ""},
		"logs by a Deployment": {http.MethodGet, "/logs", of("apps", "v1", "Deployment", "container", "main"), ""},
		"actions":              {http.MethodGet, "/resource/actions", of("apps", "v1", "Deployment"), ""},
		"an action":            {http.MethodPost, "/resource/actions", of("apps", "v1", "Deployment"), `"restart"`},
		"links":                {http.MethodGet, "/resource/links", of("", "v1", "ConfigMap"), ""},
		"events":               {http.MethodGet, "/events", events("/Pod/payments/database"), ""},
		"events without a UID": {http.MethodGet, "/events", events(""), ""},
	}
}

// try sends the request to argocd-server. argocd-server may wait forever for the tree of an Application without a tree.
func (s theft) try(ctx context.Context, app, key string) (code int, answer string) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	address := f.Hub.ArgoCDURL() + "/api/v1/applications/" + app + s.path + "?" + s.query.Encode()
	req, err := http.NewRequestWithContext(ctx, s.method, address, strings.NewReader(s.body))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		Expect(ctx.Err()).To(HaveOccurred(), "only the deadline may end a request: %v", err)
		return 0, "no answer"
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil && ctx.Err() == nil {
		Fail(err.Error())
	}
	return resp.StatusCode, string(data)
}

var _ = Describe("The hub's argocd-server, asked about a cluster without a grant", Serial, func() {
	const name, own, account = "live-attack", "live-own", "argocd-manager"

	It("finds none of the resources that a tenant writes into the status of an Application", func(ctx SpecContext) {
		needArgoCD3("argocd-server's connection to a cluster")
		key := token(ctx)
		applyTo(ctx, &f.Cluster("cluster1").ControlPlane, payments)
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Cluster("cluster1").Kubectl(ctx, "delete", "namespace", "payments", "--wait=false")
			Expect(err).NotTo(HaveOccurred())
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "payments", Name: "database"}}
		Eventually(ctx, read(cluster["cluster1"], pod)).Should(HaveField("Spec.NodeName", Not(BeEmpty())))
		kubelet(ctx, "cluster1", pod, "main", "a line of the victim")
		apply(ctx, projectFor("elsewhere-only", "cluster2")+"---"+projectFor(own, "cluster1"))
		DeferCleanup(func(ctx SpecContext) {
			_, err := f.Hub.Kubectl(ctx, "delete", "appproject", "elsewhere-only", own, "--namespace", argocdNamespace)
			Expect(err).NotTo(HaveOccurred())
		})

		By("giving argocd-server a path to the cluster")
		withReadTokens(ctx, account, "cluster1")
		asks(ctx, account)
		DeferCleanup(asks, "")
		Eventually(ctx, read(hub, secretOf("cluster1"))).Should(configured(ContainSubstring("bearerToken")))
		refuse := func(ctx context.Context, value string) {
			_, err := f.Hub.Kubectl(ctx, "patch", "configmap", "argocd-cm", "--namespace", argocdNamespace, "--type", "merge",
				"--patch", `{"data":{"cluster.inClusterEnabled":`+value+`}}`)
			Expect(err).NotTo(HaveOccurred())
		}
		refuse(ctx, `"false"`)
		DeferCleanup(refuse, "null")
		shower, err := towline.Run(ctx, f, binary, "towline-live",
			"--controllers=resourcetree", "--leader-elect=false", "--argocd-live-resources",
			"--argocd-redis="+settings(map[string]string{"address": f.Hub.RedisAddress()}))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(shower.Stop)
		loadAgent(ctx, argocdNamespace, "cluster1")

		By("writing the victim's resources into the status of an Application that may not use the cluster")
		to := func(project, path string) string {
			return fmt.Sprintf(`{"project":%q,"source":{"repoURL":%q,"path":%q,"targetRevision":"main"},`+
				`"destination":{"name":"cluster1","namespace":%q},"syncPolicy":{"automated":{},"syncOptions":["CreateNamespace=true"]}}`,
				project, f.Git.URL(fleet.AppsRepo), path, own)
		}
		wished := argocd.Status{Resources: []argocd.ResourceStatus{
			{Version: "v1", Kind: "ConfigMap", Namespace: "payments", Name: "database"},
			{Version: "v1", Kind: "Pod", Namespace: "payments", Name: "database"},
			{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "payments", Name: "database"},
		}}
		standalone(ctx, name, "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(to("elsewhere-only", "guestbook")).Status(wished) })
		Eventually(ctx, read(hub, named(name))).Should(HaveField("Status.Conditions", ContainElement(
			HaveField("Type", apis.ConditionPropagationForbiddenError))))

		By("showing the cluster's resources to an Application that has the grant and was delivered")
		standalone(ctx, own, "cluster1", func(b *fixture.ApplicationBuilder) { b.Spec(to(own, "guestbook")) })
		expectHealthy(ctx, own)
		live := theft{http.MethodGet, "/resource", url.Values{"group": {"apps"}, "version": {"v1"}, "kind": {"Deployment"},
			"namespace": {own}, "resourceName": {"guestbook-ui"}}, ""}
		_, err = f.Cluster("cluster1").Kubectl(ctx, "create", "rolebinding", account+"-views", "--namespace="+own, "--clusterrole=view",
			"--serviceaccount=default:"+account)
		Expect(err).NotTo(HaveOccurred())
		shows := func(ctx context.Context) string {
			_, answer := live.try(ctx, own, key)
			return answer
		}
		Eventually(ctx, shows).Should(ContainSubstring("guestbook-ui"))

		By("refusing the tenant")
		before, err := read(cluster["cluster1"], pod)(ctx)
		Expect(err).NotTo(HaveOccurred())
		for way, request := range thefts() {
			code, answer := request.try(ctx, name, key)
			AddReportEntry(way, fmt.Sprintf("%d %s", code, answer))
			Expect(code).NotTo(Equal(http.StatusOK), "%s: %s", way, answer)
			Expect(strings.ToLower(answer)).NotTo(ContainSubstring("victim"), way)
		}
		Expect(read(cluster["cluster1"], pod)(ctx)).To(HaveField("UID", before.UID))
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "payments", Name: "database"}}
		Expect(read(cluster["cluster1"], settings)(ctx)).To(HaveField("Data", Not(HaveKey("stolen"))))

		By("ending the access with the grant, long before the entry expires")
		apply(ctx, projectFor(own, "cluster2"))
		Eventually(ctx, shows).WithTimeout(20 * time.Second).Should(ContainSubstring(notPart))
	}, NodeTimeout(2*soon))
})
