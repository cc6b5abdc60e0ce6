package envtest_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/dependency"
)

// hubTrusts sets entries of a ConfigMap of the hub's Argo CD, and removes the entries after the test. set is the test's
// name for a group of entries; a further call with the same name replaces the group.
func hubTrusts(t *testing.T, configMap, set string, entries map[string]string) {
	t.Helper()
	apply := func(entries map[string]string) error {
		cm := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		cm.SetNamespace(argocdNamespace)
		cm.SetName(configMap)
		if configMap == dependency.CertificatesConfigMap {
			cm.SetAnnotations(map[string]string{apis.AnnotationPropagate: "true"})
		}
		data := map[string]any{}
		for k, v := range entries {
			data[k] = v
		}
		cm.Object["data"] = data
		return k8s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(cm), client.FieldOwner(set), client.ForceOwnership)
	}
	if err := apply(entries); err != nil {
		t.Fatal(err)
	}
}

// clusterTrusts creates a cluster with its own Argo CD, and a ConfigMap of its administrator with the entries.
func clusterTrusts(t *testing.T, configMap string, entries map[string]string) (*clusterv1.ManagedCluster, *corev1.ConfigMap) {
	t.Helper()
	there := &corev1.ConfigMap{Data: entries}
	there.Namespace, there.Name = namespace(t, unique("there")), configMap
	create(t, there)
	return cluster(t, func(c *clusterv1.ManagedCluster) {
		c.Annotations = map[string]string{apis.AnnotationArgoCDNamespace: there.Namespace}
	}), there
}

// agentApplies applies the ConfigMaps of a work, as the work agent does, and returns the agent's error.
func agentApplies(t *testing.T, key types.NamespacedName) error {
	t.Helper()
	w := dependencyWork(t, key)
	for i, m := range w.Spec.Workload.Manifests {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(m.Raw); err != nil {
			t.Fatal(err)
		}
		if obj.GetKind() != "ConfigMap" {
			continue
		}
		how := w.Spec.ManifestConfigs[i].UpdateStrategy.ServerSideApply
		options := []client.ApplyOption{client.FieldOwner(how.FieldManager)}
		if how.Force {
			options = append(options, client.ForceOwnership)
		}
		if err := k8s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), options...); err != nil {
			answer(t, key, metav1.ConditionFalse, err.Error())
			return err
		}
	}
	answer(t, key, metav1.ConditionTrue, "")
	return nil
}

// TestCertificateFollowsItsServer: a cluster gets only the certificate authorities of its Applications' servers. The
// cluster's own entries stay, and the ConfigMap stays after the removal of the entry.
func TestCertificateFollowsItsServer(t *testing.T) {
	start(t)
	server, other := unique("git")+".example.com", unique("git")+".example.com"
	hubTrusts(t, dependency.CertificatesConfigMap, server, map[string]string{server: "authority", other: "another"})
	a, there := clusterTrusts(t, dependency.CertificatesConfigMap, map[string]string{"git.local": "local"})
	b := cluster(t)
	user, stranger := webApp(t, a, "default", "https://"+server+":8443/apps.git").Obj(), webApp(t, b, "default", "ssh://git@"+server+"/x.git").Obj()
	create(t, user)
	create(t, stranger)
	key := dependency.CertificateKey(a.Name, server)
	w := expectDependency(t, key, carries(fmt.Sprintf(`"data":{%q:"authority"}`, server)))
	stays(NewWithT(t), w)
	neverDependency(t, dependency.CertificateKey(b.Name, server), stranger)
	neverDependency(t, dependency.CertificateKey(a.Name, other), user)
	g := NewWithT(t)
	g.Expect(agentApplies(t, key)).To(Succeed())
	g.Expect(get(t, there).Data).To(Equal(map[string]string{"git.local": "local", server: "authority"}))

	hubTrusts(t, dependency.CertificatesConfigMap, server, map[string]string{server: "next authority", other: "another"})
	expectDependency(t, key, carries("next authority"))
	g.Expect(agentApplies(t, key)).To(Succeed())
	g.Expect(get(t, there).Data).To(HaveKeyWithValue(server, "next authority"))

	remove(t, user)
	expectNoWork(t, user)
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(carriedBy(w)).NotTo(ContainSubstring("authority")) })
	g.Expect(agentApplies(t, key)).To(Succeed())
	expectNoDependency(t, key)
	g.Expect(get(t, there).Data).To(Equal(map[string]string{"git.local": "local"}))
}

// TestCertificateOfTheCluster: the cluster keeps its own entry for a server, and the Application names the ConfigMap
// and the entry.
func TestCertificateOfTheCluster(t *testing.T) {
	start(t)
	server := unique("git") + ".example.com"
	hubTrusts(t, dependency.CertificatesConfigMap, server, map[string]string{server: "authority"})
	c, there := clusterTrusts(t, dependency.CertificatesConfigMap, map[string]string{server: "the cluster's"})
	app := webApp(t, c, "default", "https://"+server+"/apps.git").Obj()
	create(t, app)
	key := dependency.CertificateKey(c.Name, server)
	expectDependency(t, key, carries("authority"))
	g := NewWithT(t)
	g.Expect(apierrors.IsConflict(agentApplies(t, key))).To(BeTrue())
	expectTrouble(t, app, "keeps its own entry in ConfigMap argocd-tls-certs-cm")
	expectTrouble(t, app, ".data."+server)

	hubTrusts(t, dependency.CertificatesConfigMap, server, map[string]string{}) // the owner withdraws the entry
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(carriedBy(w)).NotTo(ContainSubstring("authority")) })
	g.Expect(agentApplies(t, key)).To(Succeed())
	expectNoDependency(t, key)
	g.Expect(get(t, there).Data).To(Equal(map[string]string{server: "the cluster's"}))
	expectTrouble(t, app, "")
}

// TestKeysTravelWithTheirProject: clusters get the public keys of their AppProjects. The Applications name a key that
// the hub lacks. Towline removes the keys that the AppProject no longer names.
func TestKeysTravelWithTheirProject(t *testing.T) {
	start(t)
	id := func() string { return strings.ToUpper(fmt.Sprintf("%016x", []byte(unique("")))[:16]) }
	first, second, unused := "A"+id()[1:], "B"+id()[1:], "C"+id()[1:]
	hubTrusts(t, dependency.KeysConfigMap, first, map[string]string{first: "first key", unused: "unused key"})
	c, there := clusterTrusts(t, dependency.KeysConfigMap, map[string]string{"0123456789ABCDEF": "local"})
	p := appProject(t, func(p *argocd.AppProject) {
		p.Spec.Raw = fmt.Appendf(nil, `{"sourceRepos":["*"],"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}],
			"signatureKeys":[{"keyID":%q},{"keyID":%q}]}`, first, strings.Repeat("0", 24)+second)
	})
	app := webApp(t, c, p.Name, "https://git.example.com/x").Obj()
	create(t, app)
	key := dependency.ProjectKey(c.Name, p.Name)
	expectDependency(t, key, carries("first key"))
	expectTrouble(t, app, "asks for signatures by key "+second+", which ConfigMap argocd-gpg-keys-cm of the hub does not have")
	hubTrusts(t, dependency.KeysConfigMap, second, map[string]string{second: "second key"})
	expectDependency(t, key, carries("second key"))
	expectTrouble(t, app, "")
	g := NewWithT(t)
	g.Expect(agentApplies(t, key)).To(Succeed())
	g.Expect(get(t, there).Data).To(Equal(map[string]string{"0123456789ABCDEF": "local", first: "first key", second: "second key"}))

	edit(t, p, func(p *argocd.AppProject) {
		p.Spec.Raw = []byte(strings.Replace(string(p.Spec.Raw), "signatureKeys", "x", 1))
	})
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(carriedBy(w)).NotTo(ContainSubstring("first key")) })
	g.Expect(agentApplies(t, key)).To(Succeed())
	g.Expect(get(t, there).Data).To(Equal(map[string]string{"0123456789ABCDEF": "local"}))
}

// TestHostKeysOfTheHub: a cluster that reads by SSH gets the host keys of the hub. The cluster's own text stays, and
// the Application names the ConfigMap, until the hub's annotation asks for a replacement. The text stays on the cluster
// afterwards.
func TestHostKeysOfTheHub(t *testing.T) {
	start(t)
	hub := &corev1.ConfigMap{Data: map[string]string{"ssh_known_hosts": "git.example.com ssh-ed25519 AAAA"}}
	hub.Namespace, hub.Name = argocdNamespace, dependency.HostKeysConfigMap
	create(t, hub)
	const local = "git.local ssh-ed25519 BBBB"
	a, there := clusterTrusts(t, dependency.HostKeysConfigMap, map[string]string{"ssh_known_hosts": local})
	b := cluster(t)
	user, stranger := webApp(t, a, "default", "git@git.example.com:org/apps.git").Obj(), webApp(t, b, "default", "https://git.example.com/x.git").Obj()
	create(t, user)
	create(t, stranger)
	key := dependency.HostKeysKey(a.Name)
	expectWork(t, user)
	neverDependency(t, key, user)

	annotate := func(value string) {
		edit(t, hub, func(c *corev1.ConfigMap) { c.Annotations = map[string]string{apis.AnnotationPropagate: value} })
	}
	annotate("true")
	w := expectDependency(t, key, carries("git.example.com"))
	g := NewWithT(t)
	stays(g, w)
	neverDependency(t, dependency.HostKeysKey(b.Name), stranger)
	g.Expect(apierrors.IsConflict(agentApplies(t, key))).To(BeTrue())
	expectTrouble(t, user, "keeps its own host keys in ConfigMap argocd-ssh-known-hosts-cm")
	g.Expect(get(t, there).Data).To(HaveKeyWithValue("ssh_known_hosts", local))

	annotate("replace")
	expectDependency(t, key, func(g Gomega, w *workv1.ManifestWork) { g.Expect(dependency.Forced(w)).To(BeTrue()) })
	g.Expect(agentApplies(t, key)).To(Succeed())
	expectTrouble(t, user, "")
	g.Expect(get(t, there).Data).To(HaveKeyWithValue("ssh_known_hosts", hub.Data["ssh_known_hosts"]))

	annotate("false")
	expectNoDependency(t, key)
	g.Expect(get(t, there).Data).To(HaveKeyWithValue("ssh_known_hosts", hub.Data["ssh_known_hosts"]))
}
