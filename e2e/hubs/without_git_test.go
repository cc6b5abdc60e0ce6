package hubs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
	"github.com/towline-io/towline/pkg/apis"
)

// withoutGit takes the way to Git from the Argo CD of a regional hub, which then reads through the top hub.
func withoutGit(ctx context.Context, w *world) {
	const name = "region1"
	r := w.regions[name]
	_, err := towline.RunSource(ctx, w.top)
	w.Expect(err).NotTo(HaveOccurred())
	address := w.openDoor(ctx, name)
	if os.Geteuid() == 0 { // the rights for a network namespace
		w.isolate(ctx, r, address)
	}
	began := time.Now()
	w.kubectl(ctx, &w.top.Hub.ControlPlane, "label", "managedcluster", name, apis.AnnotationSource+"="+apis.SourceHub)
	app := []string{"--namespace=argocd", "get", "applications.argoproj.io", name + "-regional-guestbook", "--output=jsonpath={.spec.source.repoURL}"}
	w.Eventually(ctx, func(ctx context.Context) (string, error) { return r.Hub.Kubectl(ctx, app...) }, soon, tick).Should(
		HavePrefix("https://" + address + "/"))
	w.Expect(w.kubectl(ctx, &w.top.Hub.ControlPlane, app...)).To(Equal(w.top.Git.URL(fleet.AppsRepo)))

	const option, another = "- CreateNamespace=true", "\n        - ApplyOutOfSyncOnly=true"
	w.commit(ctx, inGit, strings.Replace(w.read(ctx, inGit), option, option+another, 1))
	w.expectEdge(ctx, r, "{.spec.syncPolicy.syncOptions[1]}", "ApplyOutOfSyncOnly=true")
	w.expectTop(ctx, allHealthy)
	w.t.Logf("a commit came to the region without Git, and to its cluster, after %s", time.Since(began).Round(100*time.Millisecond))
}

// openDoor runs the top hub's agent on a regional hub, and returns the address of the agent for Argo CD.
func (w *world) openDoor(ctx context.Context, name string) string {
	w.t.Helper()
	r := w.regions[name]
	ports, err := w.top.FreePorts(1)
	w.Expect(err).NotTo(HaveOccurred())
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	w.kubectl(ctx, &w.top.Hub.ControlPlane, "annotate", "namespace", name, apis.AnnotationSourceAddress+"=https://"+address)
	w.Expect(towline.InstallAddOn(ctx, w.top, "agent-source")).To(Succeed())
	binary, err := towline.Build(ctx, w.top)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = towline.RunAgent(ctx, w.top, binary, name, "door-"+name, "--source-bind-address="+address, "--source-address=https://"+address)
	w.Expect(err).NotTo(HaveOccurred())

	keys, trusted := &corev1.Secret{}, &corev1.ConfigMap{}
	w.Eventually(ctx, func(g Gomega, ctx context.Context) {
		get := func(into any, args ...string) {
			out, err := r.Hub.Kubectl(ctx, append(args, "--output=json")...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(json.Unmarshal([]byte(out), into)).To(Succeed())
		}
		get(keys, "--namespace="+towline.AddOnNamespace, "get", "secret", sourceproxy.KeysSecret)
		get(trusted, "--namespace=argocd", "get", "configmap", sourceproxy.CertificatesConfigMap)
		g.Expect(trusted.Data).To(HaveKeyWithValue("127.0.0.1", string(keys.Data["ca.crt"])))
	}, soon, tick).Should(Succeed())
	w.Expect(r.Hub.MountCertificates(trusted.Data)).To(Succeed()) // as the kubelet does
	encoded := base64.StdEncoding.EncodeToString([]byte("https://" + address + "/"))
	w.Eventually(ctx, r.Hub.Kubectl, soon, tick).WithArguments(
		"--namespace=argocd", "get", "secret", sourceproxy.CredentialsSecret, "--output=jsonpath={.data.url}").Should(Equal(encoded))
	return address
}

// isolate moves the repo server of a regional hub into a network namespace with a way to the agent only.
func (w *world) isolate(ctx context.Context, r *region, door string) {
	w.t.Helper()
	ns, back, err := r.Hub.IsolateRepoServer(ctx, door)
	w.Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() {
		if err := back(context.WithoutCancel(ctx)); err != nil {
			w.t.Error(err)
		}
	})
	path, args := ns.Command("git", "ls-remote", w.top.Git.URL(fleet.AppsRepo))
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	w.Expect(err).To(HaveOccurred(), "%s", out)
	w.Expect(string(out)).To(ContainSubstring("Failed to connect"))
}
