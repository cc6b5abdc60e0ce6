package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
)

// unknown is Maestro's answer to a token that the hub does not know.
const unknown = "token not authenticated"

var _ = Describe("A Maestro that asks for tokens", Serial, long, inMaestro, func() {
	It("is followed during a rotation of the token, and reports why a wrong token is refused", func(ctx SpecContext) {
		const name, on, account = "maestro-token", "cluster1", "towline-source"
		user := "system:serviceaccount:" + argocdNamespace + ":" + account
		serving, asking := certificates(user), GinkgoT().TempDir()
		replace(serving, asking)
		show := func(token string) {
			GinkgoHelper()
			Expect(os.WriteFile(filepath.Join(asking, "token"), []byte(token), 0o600)).To(Succeed())
		}
		lasting := tokenOf(ctx, account) // also creates the account
		first, second := boundToken(ctx, account, "first"), boundToken(ctx, account, "second")
		show(first)
		maySpeak(ctx, user)
		server, more, err := towline.SecureMaestro(ctx, f, "token", serving, asking)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Stop)
		DeferCleanup(func(ctx SpecContext) {
			Expect(maestro.Restart(ctx)).To(Succeed())
			Expect(maestro.Serve(ctx)).To(Succeed())
		})
		maestro.Stop()
		secure, err := maestro.StandBy(ctx, "towline-maestro-token", more...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(secure.Stop)
		Eventually(ctx, secure.Ready).Should(Succeed())
		Expect(secure.Serve(ctx)).To(Succeed())
		pid := secure.PID()
		arrives := func(word string) {
			GinkgoHelper()
			Eventually(ctx, read(cluster[on], named(name))).WithTimeout(2 * soon).Should(HaveField("Annotations", HaveKeyWithValue("note", word)))
		}
		answers := func(request string, answered int) {
			GinkgoHelper()
			Eventually(ctx, secure.Says).WithArguments("/metrics").Should(
				ContainSubstring(fmt.Sprintf("\ntowline_maestro_answered{request=%q} %d\n", request, answered)))
		}

		app := standalone(ctx, name, on)
		DeferCleanup(func() { show(lasting) }) // the end of the Application needs Maestro, even if this spec fails
		app = expectAtRest(ctx, app.Name)
		before := uids(ctx, on, name)
		answers("write", 1)

		By("a new token, and the end of the old one")
		show(second)
		invalidate(ctx, first, "first")
		began := time.Now()
		patchHub(ctx, name, annotationPatch("note", "by the second token"))
		arrives("by the second token")
		AddReportEntry(fmt.Sprintf("written with the second token %.0f s after the first became invalid", time.Since(began).Seconds()))

		By("a token that the hub does not know")
		show("nobody's")
		invalidate(ctx, second, "second") // the process may still have the token
		patchHub(ctx, name, annotationPatch("note", "by nobody"))
		answers("write", 0)
		Eventually(ctx, func(ctx context.Context) error {
			w, err := read(hub, workOf(app))(ctx)
			if err != nil {
				return err
			}
			return hub.Patch(ctx, w, client.RawPatch(types.MergePatchType, []byte(annotationPatch("note", "by the admin"))))
		}).Should(MatchError(ContainSubstring(unknown)))
		server.Stop()
		Expect(server.Restart(ctx)).To(Succeed())
		Eventually(ctx, func() string { return secure.LogTail(50) }).Should(MatchRegexp("The subscription at Maestro has ended.*" + unknown))
		answers("subscribe", 0)
		Expect(secure.Ready(ctx)).To(Succeed(), "it has works to show")
		Expect(read(cluster[on], named(name))(ctx)).To(HaveField("Annotations", HaveKeyWithValue("note", "by the second token")))

		By("the right token again")
		show(boundToken(ctx, account, "third"))
		arrives("by nobody") // the last value on the hub
		answers("write", 1)
		answers("subscribe", 1)
		expectAtRest(ctx, name)
		Expect(uids(ctx, on, name)).To(Equal(before))
		Expect(secure.PID()).To(Equal(pid))
		Expect(secure.Err()).NotTo(HaveOccurred())

		By("a process that begins with a wrong token")
		secure.Stop()
		show("nobody's")
		Expect(secure.Restart(ctx)).To(Succeed())
		Eventually(ctx, secure.Says).WithArguments("/readyz/works").Should(And(
			ContainSubstring("the last error: subscribe, "), ContainSubstring(unknown), Not(ContainSubstring("nobody's"))))
		Expect(secure.Ready(ctx)).NotTo(Succeed())
		show(lasting)
		Eventually(ctx, secure.Ready).Should(Succeed())
		Expect(secure.Serve(ctx)).To(Succeed())
	}, NodeTimeout(5*soon))
})

// boundToken returns a token of an account. The token is valid as long as a Secret exists.
func boundToken(ctx context.Context, account, secret string) string {
	GinkgoHelper()
	s := tokenSecret(secret)
	Expect(hub.Create(ctx, s)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(client.IgnoreNotFound(hub.Delete(ctx, s))).To(Succeed())
	})
	out, err := f.Hub.Kubectl(ctx, "create", "token", "--namespace", argocdNamespace, account,
		"--bound-object-kind=Secret", "--bound-object-name="+s.Name, "--bound-object-uid="+string(s.UID))
	Expect(err).NotTo(HaveOccurred())
	return out
}

// invalidate deletes the Secret of a token, and waits until the hub does not know the token any more.
func invalidate(ctx context.Context, token, secret string) {
	GinkgoHelper()
	Expect(hub.Delete(ctx, tokenSecret(secret))).To(Succeed())
	Eventually(ctx, func(ctx context.Context) (bool, error) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		err := hub.Create(ctx, review)
		return review.Status.Authenticated, err
	}).Should(BeFalse())
}

func tokenSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: argocdNamespace, Name: "maestro-token-" + name}}
}
