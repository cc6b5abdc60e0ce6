package suite

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/towline"
)

// maestro serves the works that are in Maestro. It is nil if the works are in etcd.
var maestro *towline.Maestro

var _ = Describe("Works in Maestro", Serial, inMaestro, func() {
	// arrives waits until the cluster's Application has the new annotation of the hub, and then until the Application
	// is at rest.
	arrives := func(ctx context.Context, on, name, word string) {
		GinkgoHelper()
		Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Annotations", HaveKeyWithValue("note", word)))
		expectAtRest(ctx, name)
	}

	for what, processes := range map[string][]string{
		"server":   {"maestro"},
		"database": {"postgres"},
		"broker":   {"mosquitto"},
		"all":      {"maestro", "postgres", "mosquitto"},
	} {
		It("stay on their clusters while Maestro's processes are down, and what was changed meanwhile arrives: "+what, func(ctx SpecContext) {
			const on = "cluster1"
			name := "maestro-" + what
			standalone(ctx, name, on)
			expectAtRest(ctx, name)
			before := uids(ctx, on, name)
			for _, p := range processes {
				Expect(f.Hub.StopProcess(ctx, p)).To(Succeed())
			}
			patchHub(ctx, name, annotationPatch("note", "changed meanwhile"))
			expectHealthy(ctx, name)
			began := time.Now()
			for i := range processes {
				Expect(f.Hub.StartProcess(ctx, processes[len(processes)-1-i])).To(Succeed())
			}
			if what == "database" {
				// A write before Maestro listens to its database again reaches agents only when Maestro starts, or
				// hours later.
				Expect(f.Hub.StopProcess(ctx, "maestro")).To(Succeed())
				Expect(f.Hub.StartProcess(ctx, "maestro")).To(Succeed())
			}
			arrives(ctx, on, name, "changed meanwhile")
			Expect(uids(ctx, on, name)).To(Equal(before))
			AddReportEntry(fmt.Sprintf("arrived, and at rest, %.1f s after the start", time.Since(began).Seconds()))
		}, NodeTimeout(3*soon))
	}

	It("are as the owners want after a restore of the database from an older backup", func(ctx SpecContext) {
		known, gone := standalone(ctx, "maestro-known", "cluster1"), standalone(ctx, "maestro-gone", "cluster1")
		expectAtRest(ctx, known.Name)
		gone = expectAtRest(ctx, gone.Name)
		backup := GinkgoT().TempDir()
		database := filepath.Join(f.Hub.DataDir(), "postgres")
		withoutDatabase(ctx, func() { copied(ctx, database, backup) })

		patchHub(ctx, known.Name, annotationPatch("note", "newer"))
		arrives(ctx, "cluster1", known.Name, "newer")
		unknown := standalone(ctx, "maestro-unknown", "cluster2")
		expectAtRest(ctx, unknown.Name)
		Expect(hub.Delete(ctx, gone)).To(Succeed())
		Eventually(ctx, read(hub, workOf(gone))).Should(BeNil())
		before := []any{uids(ctx, "cluster1", known.Name), uids(ctx, "cluster2", unknown.Name)}

		withoutDatabase(ctx, func() {
			Expect(exec.CommandContext(ctx, "rm", "-rf", database).Run()).To(Succeed())
			copied(ctx, filepath.Join(backup, "postgres"), filepath.Dir(database))
		})
		patchHub(ctx, known.Name, annotationPatch("note", "newest"))
		arrives(ctx, "cluster1", known.Name, "newest")
		expectAtRest(ctx, unknown.Name)
		Eventually(ctx, read(hub, workOf(unknown))).Should(Not(BeNil()))
		// A restarted agent asks Maestro for all of its works.
		for _, on := range []string{"cluster1", "cluster2"} {
			Expect(f.Cluster(on).StopProcess(ctx, "work-agent")).To(Succeed())
			Expect(f.Cluster(on).StartProcess(ctx, "work-agent")).To(Succeed())
		}
		patchHub(ctx, unknown.Name, annotationPatch("note", "after that"))
		arrives(ctx, "cluster2", unknown.Name, "after that")
		Expect([]any{uids(ctx, "cluster1", known.Name), uids(ctx, "cluster2", unknown.Name)}).To(Equal(before))
		Eventually(ctx, read(hub, workOf(gone))).Should(BeNil())
		Eventually(ctx, read(cluster["cluster1"], named(gone.Name))).Should(BeNil())
	}, NodeTimeout(5*soon))

	It("reach an agent after an outage, each in its latest version", func(ctx SpecContext) {
		const on = "cluster2"
		kept, gone := standalone(ctx, "maestro-kept", on), standalone(ctx, "maestro-deleted", on)
		expectAtRest(ctx, kept.Name)
		gone = expectAtRest(ctx, gone.Name)
		before := uids(ctx, on, kept.Name)
		Expect(f.Cluster(on).StopProcess(ctx, "work-agent")).To(Succeed())
		for _, word := range []string{"one", "two", "last"} {
			patchHub(ctx, kept.Name, annotationPatch("note", word))
		}
		Expect(hub.Delete(ctx, gone)).To(Succeed())
		// The broker keeps no messages for an absent agent: the agent has to ask.
		Expect(f.Hub.StopProcess(ctx, "mosquitto")).To(Succeed())
		Expect(f.Hub.StartProcess(ctx, "mosquitto")).To(Succeed())
		Expect(f.Cluster(on).StartProcess(ctx, "work-agent")).To(Succeed())
		arrives(ctx, on, kept.Name, "last")
		Expect(uids(ctx, on, kept.Name)).To(Equal(before))
		Eventually(ctx, read(hub, gone)).Should(BeNil())
		Expect(read(cluster[on], named(gone.Name))(ctx)).To(BeNil())
	}, NodeTimeout(3*soon))

	// followed ends the process that serves the works with the function end, and lets a second process take over. It
	// returns the second process.
	followed := func(ctx context.Context, name string, end func() error) (second *towline.Maestro) {
		GinkgoHelper()
		const on = "cluster1"
		app := standalone(ctx, name, on)
		expectAtRest(ctx, name)
		before := uids(ctx, on, name)
		second, err := maestro.StandBy(ctx, "towline-maestro-"+name)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			second.Stop()
			_ = maestro.Kill() // the process has ended already, unless the spec failed
			Expect(maestro.Restart(ctx)).To(Succeed())
			Expect(maestro.Serve(ctx)).To(Succeed())
		})
		Expect(second.Ready(ctx)).NotTo(Succeed(), "two would write")
		Expect(end()).To(Succeed())
		began := time.Now()
		Eventually(ctx, second.Ready).Should(Succeed())
		AddReportEntry(fmt.Sprintf("the second was ready after %.1f s", time.Since(began).Seconds()))
		Expect(second.Serve(ctx)).To(Succeed())
		there, back := goesOn(ctx, app, on, 1)
		AddReportEntry(fmt.Sprintf("a change took %.1f s to the cluster, and a refresh was answered after %.1f s", there.Seconds(), back.Seconds()))
		Expect(uids(ctx, on, name)).To(Equal(before))
		return second
	}

	It("are written by the leading process, and by the next leader after its end", func(ctx SpecContext) {
		followed(ctx, "maestro-leader", maestro.Kill)
	}, NodeTimeout(3*soon))

	It("are served by the next process while the leader is frozen, and not by the former leader afterwards", func(ctx SpecContext) {
		second := followed(ctx, "maestro-frozen", func() error { return syscall.Kill(maestro.PID(), syscall.SIGSTOP) })
		Expect(syscall.Kill(maestro.PID(), syscall.SIGCONT)).To(Succeed())
		began := time.Now()
		Consistently(ctx, maestro.Ready).WithTimeout(3 * time.Second).ShouldNot(Succeed())
		Eventually(ctx, maestro.Exited()).Should(BeClosed())
		AddReportEntry(fmt.Sprintf("the first ended %.1f s after it went on", time.Since(began).Seconds()))
		Expect(second.Ready(ctx)).To(Succeed())
	}, NodeTimeout(3*soon))

	It("are delivered by a second replica of Towline when the first is killed", func(ctx SpecContext) {
		const name, on = "maestro-replica", "cluster1"
		standalone(ctx, name, on)
		expectAtRest(ctx, name)
		before := uids(ctx, on, name)
		second, err := towline.Run(ctx, f, binary, "towline-second")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			second.Stop()
			Expect(tow.Restart(ctx)).To(Succeed())
		})
		Expect(tow.Kill()).To(Succeed())
		patchHub(ctx, name, annotationPatch("note", "by the second"))
		arrives(ctx, on, name, "by the second")
		Expect(uids(ctx, on, name)).To(Equal(before))
	}, NodeTimeout(3*soon))

	It("may get and lose any manifest, and keep the objects of the others", func(ctx SpecContext) {
		const on = "cluster1"
		w := &workv1.ManifestWork{
			ObjectMeta: metav1.ObjectMeta{Namespace: on, Name: "maestro-shape"},
			Spec:       workv1.ManifestWorkSpec{Workload: configMaps("first", "one", "two")},
		}
		Expect(hub.Create(ctx, w)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(hub.Delete(ctx, w))).To(Succeed())
			Eventually(ctx, read(hub, w)).Should(BeNil())
			for _, name := range []string{"one", "two", "three"} {
				Expect(read(cluster[on], sent(name))(ctx)).To(BeNil(), name)
			}
		})
		Eventually(ctx, read(cluster[on], sent("one"))).ShouldNot(BeNil())
		var two *corev1.ConfigMap
		Eventually(ctx, func(ctx context.Context) (err error) {
			two, err = read(cluster[on], sent("two"))(ctx)
			return err
		}).Should(Succeed())

		changed := w.DeepCopy()
		changed.Spec.Workload = configMaps("second", "three", "two")
		Expect(hub.Patch(ctx, changed, client.MergeFrom(w))).To(Succeed())
		Expect(changed.UID).To(Equal(w.UID))
		Expect(changed.Generation).To(Equal(w.Generation + 1))
		Eventually(ctx, read(cluster[on], sent("three"))).ShouldNot(BeNil())
		Eventually(ctx, read(cluster[on], sent("one"))).Should(BeNil())
		Expect(read(cluster[on], sent("two"))(ctx)).To(And(HaveField("UID", two.UID), HaveField("Data", HaveKeyWithValue("word", "second"))))
		Eventually(ctx, read(hub, w)).Should(Satisfy(func(w *workv1.ManifestWork) bool { return answer(w) == "Applied=True Available=True " }))
	}, NodeTimeout(3*soon))
})

// withoutDatabase calls do while Maestro's server and its database are stopped.
func withoutDatabase(ctx context.Context, do func()) {
	GinkgoHelper()
	Expect(f.Hub.StopProcess(ctx, "maestro")).To(Succeed())
	Expect(f.Hub.StopProcess(ctx, "postgres")).To(Succeed())
	do()
	Expect(f.Hub.StartProcess(ctx, "postgres")).To(Succeed())
	Expect(f.Hub.StartProcess(ctx, "maestro")).To(Succeed())
}

// copied copies a folder into a different folder. It keeps owners and modes, because the database requires them.
func copied(ctx context.Context, from, into string) {
	GinkgoHelper()
	out, err := exec.CommandContext(ctx, "cp", "-a", from, into).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// configMaps returns manifests of ConfigMaps with the given names, and the same word in each.
func configMaps(word string, names ...string) workv1.ManifestsTemplate {
	var out workv1.ManifestsTemplate
	for _, name := range names {
		m := sent(name)
		m.APIVersion, m.Kind, m.Data = "v1", "ConfigMap", map[string]string{"word": word}
		out.Manifests = append(out.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Object: m}})
	}
	return out
}

func sent(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "maestro-" + name}}
}
