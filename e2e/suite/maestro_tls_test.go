package suite

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// strangers is the error about a server certificate from an authority that is not in the file.
const strangers = "certificate signed by unknown authority"

var _ = Describe("A Maestro that asks for certificates", Serial, inMaestro, func() {
	It("is followed after both sides got certificates of a new authority, and an unknown authority is refused", func(ctx SpecContext) {
		const name, on, user = "maestro-tls", "cluster1", "towline-source"
		first, second := certificates(user), certificates(user)
		serving, asking := GinkgoT().TempDir(), GinkgoT().TempDir()
		replace(first, serving)
		replace(first, asking)
		maySpeak(ctx, user)
		server, more, err := towline.SecureMaestro(ctx, f, "mtls", serving, asking)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Stop)
		restart := func() {
			GinkgoHelper()
			server.Stop()
			Expect(server.Restart(ctx)).To(Succeed())
		}
		DeferCleanup(func(ctx SpecContext) {
			Expect(maestro.Restart(ctx)).To(Succeed())
			Expect(maestro.Serve(ctx)).To(Succeed())
		})
		maestro.Stop()
		secure, err := maestro.StandBy(ctx, "towline-maestro-tls", more...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(secure.Stop)
		Eventually(ctx, secure.Ready).Should(Succeed())
		Expect(secure.Serve(ctx)).To(Succeed())
		pid := secure.PID()

		app := standalone(ctx, name, on)
		DeferCleanup(func() { replace(second, asking) }) // the end of the Application needs Maestro, even if this spec fails
		app = expectAtRest(ctx, app.Name)
		before := uids(ctx, on, name)

		By("another authority on both sides")
		replace(second, serving)
		replace(second, asking)
		restart()
		patchHub(ctx, name, annotationPatch("note", "by the second authority"))
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Annotations", HaveKeyWithValue("note", "by the second authority")))

		By("the wrong authority in the file")
		replace(first, asking)
		restart()
		Eventually(ctx, func(ctx context.Context) error {
			return hub.Get(ctx, client.ObjectKeyFromObject(workOf(app)), workOf(app))
		}).Should(MatchError(ContainSubstring(strangers)))
		Eventually(ctx, func() string { return secure.LogTail(50) }).Should(MatchRegexp("The subscription at Maestro has ended.*" + strangers))

		By("the right token again")
		replace(second, asking)
		patchHub(ctx, name, annotationPatch("note", "known again"))
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Annotations", HaveKeyWithValue("note", "known again")))
		expectAtRest(ctx, name)
		Expect(uids(ctx, on, name)).To(Equal(before))
		Expect(secure.PID()).To(Equal(pid))
		Expect(secure.Err()).NotTo(HaveOccurred())
	}, NodeTimeout(5*soon))
})

// certificates returns a folder with certificates of a new authority.
func certificates(user string) string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	Expect(fleet.WriteCertificates(dir, user, "sources")).To(Succeed())
	return dir
}

// replace overwrites the files of a folder with the files of another folder.
func replace(from, into string) {
	GinkgoHelper()
	for _, name := range []string{"ca.crt", "server.crt", "server.key", "client.crt", "client.key"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(into, name), data, 0o600)).To(Succeed())
	}
}

// maySpeak gives a user the rights that Maestro requires.
func maySpeak(ctx context.Context, user string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Name: "e2e-" + user}
	for _, obj := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/sources/towline"}, Verbs: []string{"pub", "sub"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		Expect(hub.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
			Expect(client.IgnoreNotFound(hub.Delete(ctx, obj))).To(Succeed())
		})
	}
}
