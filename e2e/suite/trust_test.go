package suite

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

// startTLSGit serves the repositories of the fleet with TLS. The certificate is from an unknown authority. It returns
// the address, and the certificate of the authority.
func startTLSGit() (address, certificate string) {
	GinkgoHelper()
	u, err := url.Parse(strings.TrimSuffix(f.Git.URL(fleet.AppsRepo), "/"+fleet.AppsRepo+".git"))
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host}))
	DeferCleanup(server.Close)
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	return strings.Replace(f.Git.URL(fleet.AppsRepo), "http://"+u.Host, server.URL, 1), string(pem.EncodeToMemory(block))
}

// entries returns a function that reads the entries of a ConfigMap of a cluster, and mounts them for the cluster's Argo
// CD.
func entries(on string, there *corev1.ConfigMap, mount func(map[string]string) error) func(context.Context) (map[string]string, error) {
	return func(ctx context.Context) (map[string]string, error) {
		now, err := read(cluster[on], there)(ctx)
		if err != nil || now == nil {
			return nil, err
		}
		return now.Data, mount(now.Data)
	}
}

// The ConfigMap of a real cluster has entries of the cluster's own. OCM's agent adds the hub's entry, and removes the
// entry again.
var _ = Describe("A Git server with an authority of its own", long, Ordered, func() {
	const on, server = "cluster1", "127.0.0.1"
	onHub := configMapOn(argocdNamespace, dependency.CertificatesConfigMap)
	there := configMapOn(argocdNamespace, dependency.CertificatesConfigMap)
	own := map[string]string{"git.local": "the cluster's own"}
	var app *argocd.Application

	BeforeAll(func(ctx SpecContext) {
		address, certificate := startTLSGit()
		for c, data := range map[client.Client]map[string]string{hub: {server: certificate, "other.example.com": "x"}, cluster[on]: own} {
			cm := configMapOn(argocdNamespace, dependency.CertificatesConfigMap)
			Expect(client.IgnoreAlreadyExists(c.Create(ctx, cm.DeepCopy()))).To(Succeed())
			patch, err := json.Marshal(map[string]any{"data": data})
			Expect(err).NotTo(HaveOccurred())
			change(ctx, c, cm, string(patch))
		}
		DeferCleanup(func(ctx SpecContext) {
			change(ctx, hub, onHub.DeepCopy(), `{"data":null,"metadata":{"annotations":{"apps.open-cluster-management.io/propagate":null}}}`)
			change(ctx, cluster[on], there.DeepCopy(), `{"data":null}`)
			Expect(f.Cluster(on).MountCertificates(nil)).To(Succeed())
		})
		Expect(f.Cluster(on).MountCertificates(own)).To(Succeed())
		app = fixture.Application("private-authority").Cluster(on).
			Spec(strings.Replace(spec("guestbook", "private-authority"), f.Git.URL(fleet.AppsRepo), address, 1)).Finalizers(apis.FinalizerResources).Obj()
		app.UID = ""
		Expect(hub.Create(ctx, app)).To(Succeed())
	})

	It("is unknown to the cluster's Argo CD at first", func(ctx SpecContext) {
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return conditionMessage(ctx, app.Name, "ComparisonError")
		}).Should(ContainSubstring("certificate"))
		Expect(entries(on, there, f.Cluster(on).MountCertificates)(ctx)).To(Equal(own))
	})

	It("is trusted once the ConfigMap may travel", func(ctx SpecContext) {
		change(ctx, hub, onHub.DeepCopy(), `{"metadata":{"annotations":{"apps.open-cluster-management.io/propagate":"true"}}}`)
		Eventually(ctx, entries(on, there, f.Cluster(on).MountCertificates)).Should(
			And(HaveLen(2), HaveKey(server), HaveKeyWithValue("git.local", own["git.local"])))
		Expect(read(cluster[on], there)(ctx)).To(HaveField("OwnerReferences", BeEmpty()), "the ConfigMap does not go with the work")
		hardRefresh(ctx, on, app.Name)
		expectHealthy(ctx, app.Name)
	})

	It("leaves the cluster with the Application, and the ConfigMap stays", func(ctx SpecContext) {
		before, err := read(cluster[on], there)(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		Eventually(ctx, entries(on, there, f.Cluster(on).MountCertificates)).Should(Equal(own))
		key := dependency.CertificateKey(on, server)
		Eventually(ctx, read(hub, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})).Should(BeNil())
		Expect(read(cluster[on], there)(ctx)).To(HaveField("UID", before.UID))
	})
})

// The cluster's Argo CD reads by SSH with the credential and the host keys of the hub. The ConfigMap of the cluster has
// another text, as after the installation of Argo CD.
var _ = Describe("A Git server with SSH", Ordered, func() {
	const on = "cluster2"
	onHub := configMapOn(argocdNamespace, dependency.HostKeysConfigMap)
	there := configMapOn(argocdNamespace, dependency.HostKeysConfigMap)
	own := map[string]string{"ssh_known_hosts": "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"}
	var app *argocd.Application
	var server *fleet.GitSSH
	propagate := func(ctx context.Context, value string) {
		GinkgoHelper()
		change(ctx, hub, onHub.DeepCopy(), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, apis.AnnotationPropagate, value))
	}

	BeforeAll(func(ctx SpecContext) {
		var err error
		server, err = f.Git.ServeSSH()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		credential := secretOn(argocdNamespace, "apps-by-ssh")
		credential.Labels = map[string]string{apis.LabelSecretType: apis.SecretTypeRepository}
		credential.Annotations = map[string]string{apis.AnnotationPropagate: "true"}
		credential.StringData = map[string]string{"type": "git", "url": server.URL(fleet.AppsRepo), "sshPrivateKey": server.PrivateKey}
		Expect(hub.Create(ctx, credential)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(hub.Delete(ctx, credential)).To(Succeed()) })
		for c, data := range map[client.Client]map[string]string{hub: {"ssh_known_hosts": server.KnownHost}, cluster[on]: own} {
			cm := configMapOn(argocdNamespace, dependency.HostKeysConfigMap)
			Expect(client.IgnoreAlreadyExists(c.Create(ctx, cm.DeepCopy()))).To(Succeed())
			patch, err := json.Marshal(map[string]any{"data": data})
			Expect(err).NotTo(HaveOccurred())
			change(ctx, c, cm, string(patch))
		}
		DeferCleanup(func(ctx SpecContext) {
			change(ctx, hub, onHub.DeepCopy(), `{"data":null,"metadata":{"annotations":{"apps.open-cluster-management.io/propagate":null}}}`)
			change(ctx, cluster[on], there.DeepCopy(), `{"data":null}`)
			Expect(f.Cluster(on).MountHostKeys(nil)).To(Succeed())
		})
		Expect(f.Cluster(on).MountHostKeys(own)).To(Succeed())
		app = fixture.Application("by-ssh").Cluster(on).
			Spec(strings.Replace(spec("guestbook", "by-ssh"), f.Git.URL(fleet.AppsRepo), server.URL(fleet.AppsRepo), 1)).
			Finalizers(apis.FinalizerResources).Obj()
		app.UID = ""
		Expect(hub.Create(ctx, app)).To(Succeed())
	})

	It("is unknown to the cluster's Argo CD at first", func(ctx SpecContext) {
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return conditionMessage(ctx, app.Name, "ComparisonError")
		}).Should(ContainSubstring("knownhosts: key is unknown"))
	})

	It("leaves the cluster its own text, and says so", func(ctx SpecContext) {
		propagate(ctx, "true")
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return conditionMessage(ctx, app.Name, apis.ConditionDependencyError)
		}).Should(ContainSubstring("keeps its own host keys in ConfigMap argocd-ssh-known-hosts-cm"))
		Expect(entries(on, there, f.Cluster(on).MountHostKeys)(ctx)).To(Equal(own))
	})

	It("is known after the replacement of the cluster's text", func(ctx SpecContext) {
		propagate(ctx, "replace")
		want := map[string]string{"ssh_known_hosts": server.KnownHost}
		Eventually(ctx, entries(on, there, f.Cluster(on).MountHostKeys)).Should(Equal(want))
		Expect(read(cluster[on], there)(ctx)).To(HaveField("OwnerReferences", BeEmpty()), "the ConfigMap does not go with the work")
		hardRefresh(ctx, on, app.Name)
		expectHealthy(ctx, app.Name)
		Expect(conditionMessage(ctx, app.Name, apis.ConditionDependencyError)).To(BeEmpty())
	})

	It("stays known after the end of the Application", func(ctx SpecContext) {
		Expect(hub.Delete(ctx, app)).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
		key := dependency.HostKeysKey(on)
		Eventually(ctx, read(hub, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})).Should(BeNil())
		Expect(read(cluster[on], there)(ctx)).To(HaveField("Data", HaveKeyWithValue("ssh_known_hosts", server.KnownHost)))
	})
})
