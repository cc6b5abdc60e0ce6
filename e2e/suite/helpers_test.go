package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

const argocdNamespace = fleet.ArgoCDNamespace

// spec returns the spec of an Application that deploys a folder of the fleet's repository into a namespace, in the
// AppProject default.
func spec(path, namespace string) string { return specOf("default", path, namespace) }

// specOf returns the spec of an Application in an AppProject. The Application deploys a folder of the fleet's
// repository into a namespace.
func specOf(project, path, namespace string) string {
	data, err := json.Marshal(map[string]any{
		"project":     project,
		"source":      map[string]any{"repoURL": f.Git.URL(fleet.AppsRepo), "path": path, "targetRevision": "main"},
		"destination": map[string]any{"server": apis.InClusterServer, "namespace": namespace},
		"syncPolicy": map[string]any{
			"automated":   map[string]any{"prune": true, "selfHeal": true},
			"syncOptions": []string{"CreateNamespace=true"},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// standalone creates an Application without an ApplicationSet and with Argo CD's finalizer, and removes the Application
// when the spec ends. The destination namespace has the same name as the Application.
func standalone(ctx context.Context, name, cluster string, edits ...func(*fixture.ApplicationBuilder)) *argocd.Application {
	b := fixture.Application(name).Cluster(cluster).Spec(spec("guestbook", name)).Finalizers(apis.FinalizerResources)
	for _, edit := range edits {
		edit(b)
	}
	app := b.Obj()
	app.UID = ""
	Expect(hub.Create(ctx, app)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
		Expect(client.IgnoreNotFound(hub.Delete(ctx, app))).To(Succeed())
		Eventually(ctx, read(hub, app)).Should(BeNil())
	})
	return app
}

// read returns a function that reads an object again. The result is nil if the object does not exist.
func read[T client.Object](c client.Client, obj T) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		into := obj.DeepCopyObject().(T)
		err := c.Get(ctx, client.ObjectKeyFromObject(obj), into)
		if apierrors.IsNotFound(err) {
			var none T
			return none, nil
		}
		return into, err
	}
}

// named returns the key of an Application in Argo CD's namespace, to read.
func named(name string) *argocd.Application {
	app := &argocd.Application{}
	app.Namespace, app.Name = argocdNamespace, name
	return app
}

// expectHealthy waits until the hub shows the Application as Synced and Healthy, and returns the Application.
func expectHealthy(ctx context.Context, name string) *argocd.Application {
	GinkgoHelper()
	var app *argocd.Application
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		var err error
		app, err = read(hub, named(name))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(app).NotTo(BeNil(), "the hub has no Application %s", name)
		g.Expect(app.Status.Sync).NotTo(BeNil())
		g.Expect(app.Status.Sync.Status).To(Equal("Synced"))
		g.Expect(app.Status.Health.Status).To(Equal("Healthy"))
	}).Should(Succeed())
	return app
}

// expectAtRest waits until an Application is healthy and at rest. The cluster's agent has answered the current work,
// and the work no longer asks for extra feedback, because the hub has shown the first comparison. From then on, Towline
// writes the work only because of a spec's step.
func expectAtRest(ctx context.Context, name string) *argocd.Application {
	GinkgoHelper()
	app := expectHealthy(ctx, name)
	Eventually(ctx, read(hub, workOf(app))).Should(And(Not(BeNil()), Satisfy(func(w *workv1.ManifestWork) bool {
		return answer(w) == "Applied=True Available=True " && !work.TellsVolatile(w)
	})))
	return app
}

// expectSettled waits until two looks, three seconds apart, give the same result. It returns this result.
func expectSettled(ctx context.Context, look func(context.Context) ([]string, error)) []string {
	GinkgoHelper()
	var settled []string
	Eventually(ctx, func(ctx context.Context) (bool, error) {
		last := settled
		var err error
		settled, err = look(ctx)
		return len(last) > 0 && slices.Equal(last, settled), err
	}).WithPolling(3 * time.Second).Should(BeTrue())
	return settled
}

// lifeOf watches an object of a cluster, and returns its creation and its deletion as resource versions of the cluster.
// A value is zero before its event. The watch also sees an object too short-lived for a poll.
func lifeOf(ctx context.Context, on string, list client.ObjectList, obj client.Object) func() (made, gone int64) {
	GinkgoHelper()
	c, err := client.NewWithWatch(f.Cluster(on).RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(c.List(ctx, list, client.InNamespace(obj.GetNamespace()))).To(Succeed())
	w, err := c.Watch(ctx, list, client.InNamespace(obj.GetNamespace()), client.MatchingFields{"metadata.name": obj.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	var made, gone atomic.Int64
	go func() {
		for e := range w.ResultChan() {
			at, err := meta.Accessor(e.Object)
			if err != nil {
				continue // the watch has ended
			}
			version, err := strconv.ParseInt(at.GetResourceVersion(), 10, 64)
			switch {
			case err != nil:
			case e.Type == watch.Added:
				made.CompareAndSwap(0, version)
			case e.Type == watch.Deleted:
				gone.CompareAndSwap(0, version)
			}
		}
	}()
	return func() (int64, int64) { return made.Load(), gone.Load() }
}

// expectCondition waits until the hub Application has a condition of the given type, and the message contains the given
// text.
func expectCondition(ctx context.Context, name, conditionType, says string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (string, error) {
		return conditionMessage(ctx, name, conditionType)
	}).Should(And(Not(BeEmpty()), ContainSubstring(says)))
}

// expectNoCondition waits until the hub Application has no condition of the given type.
func expectNoCondition(ctx context.Context, name, conditionType string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (string, error) {
		return conditionMessage(ctx, name, conditionType)
	}).Should(BeEmpty())
}

func conditionMessage(ctx context.Context, name, conditionType string) (string, error) {
	app, err := read(hub, named(name))(ctx)
	if err != nil || app == nil {
		return "", err
	}
	i := slices.IndexFunc(app.Status.Conditions, func(c argocd.Condition) bool { return c.Type == conditionType })
	if i < 0 {
		return "", nil
	}
	return app.Status.Conditions[i].Message, nil
}

// workOf returns the key of the Application's ManifestWork, to read.
func workOf(app *argocd.Application) *workv1.ManifestWork {
	key := work.Key(app)
	return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
}

// guestbookOf returns the key of the guestbook's Deployment in a namespace, to read.
func guestbookOf(namespace string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guestbook-ui"}}
}

// deployment waits for an available guestbook Deployment on a cluster, and returns the Deployment.
func deployment(ctx context.Context, on, namespace string) *appsv1.Deployment {
	GinkgoHelper()
	var d *appsv1.Deployment
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		var err error
		d, err = read(cluster[on], guestbookOf(namespace))(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(d).NotTo(BeNil())
		g.Expect(d.Status.AvailableReplicas).To(BeNumerically(">", 0))
	}).Should(Succeed())
	return d
}

// namespaceOn makes a namespace on a control plane.
func namespaceOn(ctx context.Context, c client.Client, name string) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(client.IgnoreAlreadyExists(c.Create(ctx, ns))).To(Succeed())
}

// hardRefresh asks a cluster's own Argo CD to fetch and compare again, as the cluster's users would. It first waits
// until an earlier refresh is answered: Argo CD's answer removes the annotation, even if the fetch happened before the
// new request.
func hardRefresh(ctx context.Context, on, name string) {
	GinkgoHelper()
	Eventually(ctx, read(cluster[on], named(name))).Should(HaveField("Refresh()", BeEmpty()))
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"hard"}}}`, apis.AnnotationRefresh)
	Expect(cluster[on].Patch(ctx, named(name), client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// ran runs kubectl towline with a kubeconfig. It returns stdout followed by stderr, and the exit code.
func ran(ctx context.Context, plugin, kubeconfig string, args ...string) (string, int, error) {
	cmd := exec.CommandContext(ctx, plugin, append(slices.Clone(args), "--kubeconfig", kubeconfig)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	all := string(out) + said.String()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return all, exit.ExitCode(), nil
	}
	return all, 0, err
}

// runs runs kubectl towline like ran, and adds the output to the report.
func runs(ctx context.Context, plugin, kubeconfig string, args ...string) (string, int) {
	GinkgoHelper()
	out, code, err := ran(ctx, plugin, kubeconfig, args...)
	AddReportEntry("$ kubectl towline " + strings.Join(args, " ") + "\n" + out)
	Expect(err).NotTo(HaveOccurred(), out)
	return out, code
}

// expectRuns repeats kubectl towline until the command ends with the given code and its output matches. Repeats are
// needed because other components change the hub at any time. Use runs for a command that waits or that changes
// objects.
func expectRuns(ctx context.Context, plugin, kubeconfig string, args []string, code int, says OmegaMatcher) {
	GinkgoHelper()
	var out string
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		var got int
		var err error
		out, got, err = ran(ctx, plugin, kubeconfig, args...)
		g.Expect(err).NotTo(HaveOccurred(), out)
		g.Expect(got).To(Equal(code), out)
		g.Expect(out).To(says)
	}).Should(Succeed())
	AddReportEntry("$ kubectl towline " + strings.Join(args, " ") + "\n" + out)
}

// settings writes files into a folder, in the form in which a pod mounts a Secret. It returns the path of the folder.
func settings(files map[string]string) string {
	dir := GinkgoT().TempDir()
	for name, text := range files {
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	return dir
}

// testdata returns the path of a file in testdata.
func testdata(name string) string { return filepath.Join("testdata", name) }

// testdataFS returns a file system with a single file of testdata.
func testdataFS(name string) fs.FS {
	GinkgoHelper()
	data, err := os.ReadFile(testdata(name))
	Expect(err).NotTo(HaveOccurred())
	return fstest.MapFS{name: {Data: data, Mode: 0o644}}
}

// apply applies a manifest to the hub.
func apply(ctx context.Context, manifest string) {
	GinkgoHelper()
	applyTo(ctx, &f.Hub.ControlPlane, manifest)
}

func applyTo(ctx context.Context, plane *fleet.ControlPlane, manifest string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "manifest.yaml")
	Expect(os.WriteFile(file, []byte(manifest), 0o600)).To(Succeed())
	_, err := plane.Kubectl(ctx, "apply", "--server-side", "-f", file)
	Expect(err).NotTo(HaveOccurred())
}
