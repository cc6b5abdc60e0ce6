package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/fixture"
)

// subscribe is the annotation that subscribes the webhook sink to an Application.
const subscribe = "notifications.argoproj.io/subscribe.%s.sink"

// unplaceable is a Deployment that applies without errors, but its pod fits no node.
const unplaceable = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: unplaceable}
spec:
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: unplaceable}}
  template:
    metadata: {labels: {app: unplaceable}}
    spec:
      nodeSelector: {there: is-none}
      containers: [{name: main, image: registry.example.com/guestbook:1.0.0}]
`

var _ = Describe("The notifications controller of the hub's Argo CD", Serial, func() {
	It("reports the status of a pulled Application on its cluster", func(ctx SpecContext) {
		sink := listen()
		DeferCleanup(sink.server.Close)
		startNotifications(ctx, sink.server.URL)
		sha, err := f.Git.Commit(ctx, fleet.AppsRepo, map[string]string{"unplaceable/deployment.yaml": unplaceable}, "Add what no node takes")
		Expect(err).NotTo(HaveOccurred())
		subscribed := func(trigger, name, path string) {
			standalone(ctx, name, "cluster1", func(b *fixture.ApplicationBuilder) {
				b.Spec(spec(path, name)).Annotation(fmt.Sprintf(subscribe, trigger), "")
			})
		}
		subscribed("on-sync-succeeded", "notified-synced", "guestbook")
		subscribed("on-health-degraded", "notified-degraded", "unplaceable")
		// ContainElements permits duplicates: the controller may send a message again after it has lost the race to
		// record the first send.
		Eventually(ctx, sink.heard).Should(ContainElements(
			message{Of: "on-sync-succeeded", App: "notified-synced", Phase: "Succeeded", Revision: sha, Repo: f.Git.URL(fleet.AppsRepo)},
			message{Of: "on-health-degraded", App: "notified-degraded", Health: "Degraded", Revision: sha},
		))
		AddReportEntry("what the webhook got", fmt.Sprint(sink.heard()))
	})
})

// A message has the fields of the notification templates.
type message struct{ Of, App, Phase, Health, Revision, Repo string }

// A webhook receives messages.
type webhook struct {
	server   *httptest.Server
	mu       sync.Mutex
	messages []message
}

func listen() *webhook {
	w := &webhook{}
	w.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m message
		data, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(data, &m) != nil {
			m = message{Of: string(data)}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.messages = append(w.messages, m)
	}))
	return w
}

func (w *webhook) heard() []message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]message{}, w.messages...)
}

// startNotifications runs the notifications controller of the hub's Argo CD until the spec ends. Its triggers are from
// Argo CD's catalog, and its templates are for a webhook.
func startNotifications(ctx context.Context, sink string) {
	GinkgoHelper()
	apply(ctx, fmt.Sprintf(notifications, sink))
	DeferCleanup(func(ctx SpecContext) {
		_, err := f.Hub.Kubectl(ctx, "delete", "--namespace", argocdNamespace, "--ignore-not-found", "configmap/argocd-notifications-cm",
			"secret/argocd-notifications-secret", "role/argocd-notifications-controller", "rolebinding/argocd-notifications-controller",
			"serviceaccount/argocd-notifications-controller")
		Expect(err).NotTo(HaveOccurred())
	})
	kubeconfig, err := f.Hub.ServiceAccountKubeconfig(ctx, argocdNamespace, "argocd-notifications-controller")
	Expect(err).NotTo(HaveOccurred())
	// Argo CD 2.14 takes the namespace from the kubeconfig, as in a Pod, and ignores the flag.
	config, err := clientcmd.LoadFromFile(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = argocdNamespace
	Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	controller, err := f.Run(ctx, fleet.Command{
		Name: "argocd-notifications", Path: f.Program("argocd"), Env: []string{"ARGOCD_BINARY_NAME=argocd-notifications"},
		Args: []string{"--kubeconfig", kubeconfig, "--namespace", argocdNamespace, "--metrics-port=0", "--argocd-repo-server-plaintext"},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(controller.Stop)
}

// notifications are the objects that an administrator makes for the controller. The parameter is the address of the
// webhook. The templates read the revision as the commit status of Argo CD's documentation does. At the end of a sync, Argo CD
// sends before the next comparison: the sync status can still be OutOfSync.
const notifications = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: argocd-notifications-controller, namespace: argocd}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-notifications-secret, namespace: argocd}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: argocd-notifications-controller, namespace: argocd}
rules:
- {apiGroups: [argoproj.io], resources: [applications, appprojects], verbs: [get, list, watch, update, patch]}
- {apiGroups: [""], resources: [configmaps, secrets], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: argocd-notifications-controller, namespace: argocd}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: argocd-notifications-controller}
subjects: [{kind: ServiceAccount, name: argocd-notifications-controller, namespace: argocd}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-notifications-cm, namespace: argocd}
data:
  service.webhook.sink: |
    url: %s
  trigger.on-sync-succeeded: |
    - when: app.status.operationState != nil and app.status.operationState.phase in ['Succeeded']
      oncePer: app.status.operationState?.syncResult?.revision
      send: [app-sync-succeeded]
  trigger.on-health-degraded: |
    - when: app.status.health.status == 'Degraded'
      oncePer: app.status.operationState?.syncResult?.revision
      send: [app-health-degraded]
  template.app-sync-succeeded: |
    webhook:
      sink:
        method: POST
        body: |
          {"of": "on-sync-succeeded", "app": "{{.app.metadata.name}}", "phase": "{{.app.status.operationState.phase}}",
           "revision": "{{.app.status.operationState.operation.sync.revision}}", "repo": "{{.app.spec.source.repoURL}}"}
  template.app-health-degraded: |
    webhook:
      sink:
        method: POST
        body: |
          {"of": "on-health-degraded", "app": "{{.app.metadata.name}}", "health": "{{.app.status.health.status}}",
           "revision": "{{.app.status.operationState.operation.sync.revision}}"}
`
