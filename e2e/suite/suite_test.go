package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/matrix"
	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/managedcluster"
)

const (
	// soon is the timeout for conditions that take seconds, on a busy machine. The timeout is longer than the longest time
	// after which Argo CD compares an Application anew: 300 seconds for Argo CD 3.5.7, and 360 seconds for Argo CD 2.14. Argo
	// CD can overwrite a deletion in its cache with the copy of a status write in the same second (writeBackToInformer), and
	// sees the deletion at the next comparison. The longest times follow from the source. Argo CD 2.14 looks every 180
	// seconds, and compares the Applications whose comparison is older than 180 seconds. Argo CD 3.5 looks every 120 seconds,
	// and compares up to 60 seconds later, if the comparison is then older than 120 seconds.
	soon = 7 * time.Minute

	// tick is the polling interval of conditions.
	tick = 100 * time.Millisecond

	// busyCluster is the cluster whose Argo CD compares every Application at least twice a minute.
	busyCluster = "cluster3"
)

// long marks a spec that takes more than half a minute. Most long specs wait for a period of a real program to end.
// `make test` skips long specs, and `make e2e` runs them.
var long = Label(matrix.LongLabel)

// nightly marks a spec that needs many seconds of both processors: a flood, or a spec whose flow is also a shorter spec, a test
// of the controllers, or a script of the simulation. `make test` skips nightly specs, so that a change waits less. All other runs
// of the suite have nightly specs.
var nightly = Label("nightly")

var (
	f       *fleet.Fleet
	tow     *towline.Towline
	binary  string
	scheme  = runtime.NewScheme()
	hub     client.Client
	cluster = map[string]client.Client{}

	// failures are the failed specs, with the reasons.
	failures []string
)

func TestSuite(t *testing.T) {
	RegisterFailHandler(Fail)
	EnforceDefaultTimeoutsWhenUsingContexts() // with only a context, Eventually would wait forever
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(tick)
	suite, reporter := GinkgoConfiguration()
	RunSpecs(t, "Towline on a real fleet", inHalf(suite), recorded(reporter))
	// The failures are repeated at the end, because some tools keep only the end of a long log.
	for _, failure := range failures {
		t.Error(failure)
	}
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(GinkgoLogr)
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(controllers.AddToScheme(scheme)).To(Succeed())
	Expect(clusterv1alpha1.Install(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())

	f = startFleet(ctx)
	DeferCleanup(f.Stop)
	recordVersions()
	hub = clientOf(&f.Hub.ControlPlane)
	for _, c := range f.Clusters() {
		cluster[c.Name()] = clientOf(&c.ControlPlane)
	}
	if *transport == fleet.TransportMaestro {
		var err error
		maestro, err = towline.InstallMaestro(ctx, f)
		Expect(err).NotTo(HaveOccurred())
	}
	switch *profile {
	case profileACM:
		prepareACM(ctx)
	case oldACM:
		prepareOldACM(ctx)
	}
	Expect(towline.InstallChart(ctx, f, chartValues()...)).To(Succeed())
	Expect(towline.ApplyExamples(ctx, f)).To(Succeed())
	var err error
	binary, err = towline.Build(ctx, f)
	Expect(err).NotTo(HaveOccurred())
	tow, err = towline.Start(ctx, f, towline.Options{Binary: binary, Name: "towline", ReadyTimeout: soon})
	Expect(err).NotTo(HaveOccurred())
	DeferOnFailure(reportState, NodeTimeout(2*time.Minute)) // before the clean-up, and also after a clean-up that fails
	waitImported(ctx)
	if *profile != profileOCM {
		followACM(ctx)
	}
	apply(ctx, ownerless)
}, NodeTimeout(30*time.Minute)) // the first run builds all programs

// After a whole run, every granted right must have been used.
var _ = AfterSuite(func(ctx SpecContext) {
	if wholeRun() {
		checkRights(ctx)
	}
})

// A spec begins only when all clusters are available. The previous spec may have restarted the agents of a cluster, and
// the cluster's lease, not renewed meanwhile, may expire a moment later.
var _ = BeforeEach(func(ctx SpecContext) {
	for _, c := range f.Clusters() {
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			mc, err := read(hub, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name()}})(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(mc).NotTo(BeNil())
			g.Expect(managedcluster.Unreachable(mc)).To(BeEmpty())
			lease, err := read(hub, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.Name(), Name: "managed-cluster-lease"}})(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(lease).NotTo(BeNil())
			g.Expect(lease.Spec.RenewTime).NotTo(BeNil())
			g.Expect(time.Since(lease.Spec.RenewTime.Time)).To(BeNumerically("<", 2*time.Duration(mc.Spec.LeaseDurationSeconds)*time.Second))
		}).Should(Succeed())
	}
}, OncePerOrdered)

func startFleet(ctx context.Context) *fleet.Fleet {
	if dir := os.Getenv("TOWLINE_E2E_FLEET"); dir != "" {
		f, err := fleet.Connect(ctx, dir)
		Expect(err).NotTo(HaveOccurred())
		return f
	}
	f, err := fleet.Start(ctx, fleet.Options{
		Dir: GinkgoT().TempDir(), Clusters: matrix.Clusters(), AuditLog: true, Progress: GinkgoWriter, Transport: *transport,
		// The Argo CD of the busy cluster compares more often than every three minutes.
		ExtraArgs: map[string][]string{busyCluster + "/argocd-application-controller": {"--app-resync=15", "--app-resync-jitter=0"}},
	})
	Expect(err).NotTo(HaveOccurred())
	return f
}

func clientOf(plane *fleet.ControlPlane) client.Client {
	c, err := client.New(plane.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// reportState adds the end of Towline's log and the Applications of all clusters to the report. For an Application in
// deletion, the report gets the end of the log of the cluster's Argo CD.
func reportState(ctx SpecContext) {
	AddReportEntry("the end of Towline's log", tow.LogTail(40))
	planes := map[string]*fleet.ControlPlane{"hub": &f.Hub.ControlPlane}
	for _, c := range f.Clusters() {
		planes[c.Name()] = &c.ControlPlane
	}
	for name, plane := range planes {
		out, _ := plane.Kubectl(ctx, "get", "applications.argoproj.io", "--all-namespaces", "--output", inBrief)
		AddReportEntry("the Applications of "+name, out)
		deleted, _ := plane.Kubectl(ctx, "get", "applications.argoproj.io", "--all-namespaces", "--output", inDeletion)
		for app := range strings.FieldsSeq(deleted) {
			AddReportEntry("the log of Argo CD on "+name+" about "+app, linesAbout(app, filepath.Join(f.Logs(), name+"-argocd-application-controller.log")))
		}
	}
}

// linesAbout returns the last lines of a log with a word; empty for an unreadable log.
func linesAbout(word, log string) string {
	text, _ := os.ReadFile(log)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-60):], "")
}

// inBrief prints an Application as a line with its state, its last operation and its conditions.
const inBrief = `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.status.sync.status} {.status.health.status}, ` +
	`{.status.operationState.phase} {.status.operationState.startedAt}: {.status.operationState.message} ` +
	`{.status.operationState.syncResult.resources}; {.status.conditions} {.metadata.deletionTimestamp}{"\n"}{end}`

// inDeletion prints the names of the Applications in deletion.
const inDeletion = `jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{" "}{end}`

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() {
		failures = append(failures, fmt.Sprintf("%s, at %s:\n%.2000s", report.FullText(), report.FailureLocation(), report.FailureMessage()))
	}
})
