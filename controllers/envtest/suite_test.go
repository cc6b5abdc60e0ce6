package envtest_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
)

const (
	// soon limits the wait for an expected effect. On an idle machine, the effect takes milliseconds.
	soon = 30 * time.Second

	// tick is the interval between two checks of a condition.
	tick = 20 * time.Millisecond
)

// publishedCRDs makes the API server serve the CRDs of other products. These CRDs are narrower, and prune.
var publishedCRDs = flag.Bool("published-crds", false, "run with the CRDs that other products bring in place of Towline's")

var (
	hub    *rest.Config
	k8s    client.Client
	mapper meta.RESTMapper // the REST mapper of the hub; no test changes it
	scheme = runtime.NewScheme()
	number atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(runSuite(m))
}

// runSuite runs all tests against one API server of the fleet.
func runSuite(m *testing.M) int {
	flag.Parse()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		fmt.Println("KUBEBUILDER_ASSETS is not set: run make test-envtest, or set it to the folder that `go -C e2e run ./cmd/fleet assets` prints")
		return 1
	}
	logger := zap.New(zap.UseDevMode(true), zap.WriteTo(logs{}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, controllers.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	crds, err := loadCRDs(filepath.Join(assets, "crds"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	// Frequent garbage collection of the API server brings nothing here: 27 s of CPU in place of 29 for an eighth of
	// the tests.
	if err := os.Setenv("GOGC", cmp.Or(os.Getenv("GOGC"), "400")); err != nil {
		fmt.Println(err)
		return 1
	}
	env := &envtest.Environment{CRDs: crds}
	if hub, err = env.Start(); err != nil {
		fmt.Println("start the API server:", err)
		return 1
	}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Println("stop the API server:", err)
		}
	}()
	hub.QPS = -1
	if err := connect(); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := grantAll(context.Background()); err != nil {
		fmt.Println("grants:", err)
		return 1
	}
	if err := makeBarrierGround(context.Background()); err != nil {
		fmt.Println("barriers:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := played.start(ctx); err != nil {
		fmt.Println("agents:", err)
		return 1
	}
	code := m.Run()
	endUnclaimed()
	if err := failedBetween(); err != nil {
		fmt.Println("FAIL: a Towline failed between two tests:", err)
		return max(code, 1)
	}
	return code
}

// connect creates the client of the tests, and the REST mapper for all managers.
func connect() error {
	over, err := rest.HTTPClientFor(hub)
	if err != nil {
		return err
	}
	if mapper, err = apiutil.NewDynamicRESTMapper(hub, over); err != nil {
		return err
	}
	k8s, err = client.New(hub, client.Options{Scheme: scheme, HTTPClient: over, Mapper: mapper})
	return err
}

// knownMapper returns the shared REST mapper, for a manager.
func knownMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }

// published is the folder of the CRDs of other products.
const published = "../../pkg/apis/apps/testdata/published"

// publishedOr returns the file of another product's CRD for the same kind, or the file of Towline's CRD if no product
// has the kind.
func publishedOr(file string) string {
	name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(file), ".yaml"), apis.Group+"_")
	if narrow := filepath.Join(published, name+".crd.yaml"); exists(narrow) {
		return narrow
	}
	return file
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// loadCRDs reads Towline's CRDs and further CRDs for the controllers. The CRD of Application is changed to accept
// unknown fields, as the CRD of a newer Argo CD on the hub would.
func loadCRDs(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob("../../deploy/crds/apps.*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range []string{
		"application-crd.yaml",
		"appproject-crd.yaml",
		"applicationset-crd.yaml",
		"0000_00_work.open-cluster-management.io_manifestworks.crd.yaml",
		"0000_00_clusters.open-cluster-management.io_managedclusters.crd.yaml",
		"0000_00_clusters.open-cluster-management.io_managedclustersets.crd.yaml",
		"0000_01_clusters.open-cluster-management.io_managedclustersetbindings.crd.yaml",
		"0000_02_clusters.open-cluster-management.io_placements.crd.yaml",
		"0000_03_clusters.open-cluster-management.io_placementdecisions.crd.yaml",
	} {
		files = append(files, filepath.Join(dir, file))
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		if *publishedCRDs {
			file = publishedOr(file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if crd.Spec.Names.Kind == argocd.Kind {
			schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			schema.XPreserveUnknownFields = ptr.To(true)
			spec := schema.Properties["spec"]
			spec.XPreserveUnknownFields = ptr.To(true)
			schema.Properties["spec"] = spec
			hydrated := spec.Properties["sourceHydrator"].Properties["syncSource"]
			hydrated.Properties["repoURL"] = apiextensionsv1.JSONSchemaProps{Type: "string"} // Argo CD 3.5
		}
		if crd.Spec.Names.Kind == "ApplicationSet" { // the schema has a megabyte, and the tests use only the metadata
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: ptr.To(true),
			}
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// failures are the log lines about failed reconciles. Failures are counted as well.
var failures struct {
	mu    sync.Mutex
	lines []string
}

// failuresIn returns the failures about objects of the namespace.
func failuresIn(namespace string) (lines []string) {
	failures.mu.Lock()
	defer failures.mu.Unlock()
	for _, line := range failures.lines {
		if strings.Contains(line, `"namespace": "`+namespace+`"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// logs drops the controllers' log lines except for failures, unless the test runs verbosely.
type logs struct{}

func (logs) Write(p []byte) (int, error) {
	if line := string(p); strings.Contains(line, "Reconciler error") {
		failures.mu.Lock()
		failures.lines = append(failures.lines, line)
		failures.mu.Unlock()
	}
	if testing.Verbose() {
		return os.Stderr.Write(p)
	}
	return len(p), nil
}

// workers is the number of Applications that each controller processes in parallel.
const workers = 4

// settings returns the production settings, for several managers in one process.
func settings() config.Controller {
	s := controllers.Settings()
	s.SkipNameValidation = ptr.To(true)
	return s
}

// running is a running Towline: the real controllers, with a client that counts their writes.
type running struct {
	stop   func()
	writes *writes
	failed chan error // the error of the manager or of its end, for the test

	left chan struct{} // closed at the time when the program would have ended
}

// wholeManager tells when all parts of a manager have ended. controllers.Start may return earlier.
type wholeManager struct {
	ctrl.Manager
	ended chan struct{}
}

// Start implements manager.Manager.
func (m *wholeManager) Start(ctx context.Context) error {
	defer close(m.ended)
	return m.Manager.Start(ctx)
}

// start runs all controllers until the test calls stop. The controllers may continue for the next test: see lasting.
func start(t *testing.T, edits ...func(*controllers.Options)) *running {
	t.Helper()
	o := options(edits)
	if r := goOn(t, o); r != nil {
		return r
	}
	if worksForATest() { // the test starts a second Towline in parallel to the shared Towline
		return startReplica(t, func(*ctrl.Options) {}, edits...)
	}
	r := run(context.WithoutCancel(t.Context()), t, func(*ctrl.Options) {}, o)
	r.last(t, o)
	return r
}

// startReplica runs controllers in a manager with different options until the test ends or calls stop.
func startReplica(t *testing.T, replica func(*ctrl.Options), edits ...func(*controllers.Options)) *running {
	t.Helper()
	unshared(t)
	r := run(t.Context(), t, replica, options(edits))
	t.Cleanup(func() {
		r.stop()
		r.expectNoFailure(t)
	})
	return r
}

// options returns the default options of the tests with edits.
func options(edits []func(*controllers.Options)) controllers.Options {
	o := controllers.Options{
		Enabled: controllers.Names, Concurrency: workers,
		Move:         delivery.MoveOptions{Order: apis.MoveNewFirst, Timeout: time.Hour},
		ClusterGrace: time.Millisecond,
	}
	o.Authorization.NamespaceRules = []authorization.NamespaceRule{{From: "*", To: "*"}}
	o.Dependencies = dependency.Options{ClusterNamespace: clusterArgoCD, Projects: true, Objects: true, Grace: time.Millisecond}
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

// run runs controllers until ctx ends or the test calls stop. run returns when the cache is filled.
func run(ctx context.Context, t *testing.T, replica func(*ctrl.Options), o controllers.Options) *running {
	t.Helper()
	r, filled := begin(ctx, t, replica, o)
	if !filled(ctx) {
		t.Fatal("the cache was not filled")
	}
	return r
}

// begin runs controllers until ctx ends or the test calls stop. filled waits for the cache, and reports whether the
// cache is filled.
func begin(
	ctx context.Context, t *testing.T, replica func(*ctrl.Options), o controllers.Options,
) (r *running, filled func(context.Context) bool) {
	t.Helper()
	w := &writes{test: t.Name()}
	cfg := controllers.Config(hub)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.count(next) })
	cfg.Wrap(slowed)
	options := ctrl.Options{
		Scheme:     scheme,
		Cache:      controllers.Cache(controllers.DefaultArgoCDNamespace, nil),
		NewClient:  controllers.NewClient,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: settings(), MapperProvider: knownMapper,
	}
	replica(&options)
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := controllers.Add(ctx, mgr, o); err != nil {
		t.Fatal(err)
	}
	ended := began(t)
	r = &running{writes: w, failed: make(chan error, 1), left: make(chan struct{})}
	whole := &wholeManager{Manager: mgr, ended: make(chan struct{})}
	go func() {
		defer close(r.left)
		r.fail(controllers.Start(ctx, whole))
	}()
	r.stop = sync.OnceFunc(func() { cancel(); <-r.left; <-whole.ended; ended() })
	return r, mgr.GetCache().WaitForCacheSync
}

// fail records an error for the test.
func (r *running) fail(err error) {
	if err == nil {
		return
	}
	select {
	case r.failed <- err:
	default: // an earlier error is enough
	}
}

// expectNoFailure fails the test if the manager has failed.
func (r *running) expectNoFailure(t *testing.T) {
	t.Helper()
	select {
	case err := <-r.failed:
		t.Errorf("Towline: %v", err)
	default:
	}
}

// writes counts the requests that change an object, as "<method> <path>", except for events. Requests for reports,
// including reads, are counted separately, and so are reads other than watches.
//
// Requests in the namespaces of other tests do not count, because these tests may leave objects behind.
type writes struct {
	test                 string
	mu                   sync.Mutex
	made, reports, reads []string

	first func(method, path string) // called before each request; may be nil

	watches map[string]int // the open watches, by "<path>?<field selector>"

	unlabelled late
}

// owners are the names of the tests, by the namespace that each test created.
var owners sync.Map

// foreign reports whether a request concerns a namespace of a different test or subtest.
func (w *writes) foreign(path string) bool {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return false
	}
	namespace, _, _ := strings.Cut(rest, "/")
	owner, made := owners.Load(namespace)
	return made && w.test != "" && !related(owner.(string), w.test)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *writes) count(next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" && (r.Method != http.MethodPut || r.URL.Query().Get("dryRun") == "") {
			w.note(r.Method, r.URL.Path)
			w.before()(r.Method, r.URL.Path)
		}
		if r.URL.Query().Get("watch") == "" {
			return next.RoundTrip(r)
		}
		w.watch(r)
		resp, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("labelSelector") == "!"+apis.LabelPull {
			resp.Body = body{resp.Body, &w.unlabelled}
			// Kubernetes 1.30 lists the initial objects before the watch.
			w.unlabelled.begun.CompareAndSwap(false, r.URL.Query().Get("sendInitialEvents") == "")
		}
		return resp, err
	})
}

// late delays the events of a watch while the lock is held. begun is true after the watch has delivered the initial
// objects.
type late struct {
	sync.RWMutex
	begun atomic.Bool
}

type body struct {
	io.ReadCloser
	late *late
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.late.RLock()
	defer b.late.RUnlock()
	if bytes.Contains(p[:n], []byte(metav1.InitialEventsAnnotationKey)) {
		b.late.begun.Store(true)
	}
	return n, err
}

// watch counts a watch until its client ends it.
func (w *writes) watch(r *http.Request) {
	of := r.URL.Path + "?" + r.URL.Query().Get("fieldSelector")
	w.countWatch(of, 1)
	context.AfterFunc(r.Context(), func() { w.countWatch(of, -1) })
}

func (w *writes) countWatch(of string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches == nil {
		w.watches = map[string]int{}
	}
	w.watches[of] += n
}

// watched reports whether a watch is open.
func (w *writes) watched(path, fieldSelector string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watches[path+"?"+fieldSelector] > 0
}

// begin resets all counts for a new test.
func (w *writes) begin(test string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.test, w.made, w.reports, w.reads = test, nil, nil, nil
}

// race sets a function that runs between Towline's decision for a request and the arrival of the request.
func (w *writes) race(first func(method, path string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = first
}

func (w *writes) before() func(method, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		return func(string, string) {}
	}
	return w.first
}

func (w *writes) note(method, path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.foreign(path):
	case strings.Contains(path, "/multiclusterapplicationsetreports"):
		w.reports = append(w.reports, method+" "+path)
	case method == http.MethodGet:
		w.reads = append(w.reads, path)
	case filepath.Base(path) != "events":
		w.made = append(w.made, method+" "+path)
	}
}

// takeReports returns the requests of the method for a namespace's reports since the last call.
func (w *writes) takeReports(method, namespace string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var taken, left []string
	for _, made := range w.reports {
		if strings.HasPrefix(made, method+" ") && strings.Contains(made, "/namespaces/"+namespace+"/") {
			taken = append(taken, made)
		} else {
			left = append(left, made)
		}
	}
	w.reports = left
	return taken
}

// takeReads returns the reads since the last call.
func (w *writes) takeReads() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	read := w.reads
	w.reads = nil
	return read
}

// take returns the writes since the last call.
func (w *writes) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := w.made
	w.made = nil
	return made
}

// unique returns a unique name. Names sort by the time of their creation, also when the number gets one more digit.
// Therefore the order of names does not depend on the position of a test in the run.
func unique(prefix string) string {
	return fmt.Sprintf("%s-%05d", prefix, number.Add(1))
}

// namespace creates a namespace for a test. The Applications of the namespace may go to all clusters.
func namespace(t *testing.T, name string) string {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	create(t, binding(name, globalSet))
	return name
}

// cluster creates an accepted, available ManagedCluster and its namespace.
func cluster(t *testing.T, edits ...func(*clusterv1.ManagedCluster)) *clusterv1.ManagedCluster {
	t.Helper()
	c := managedCluster(unique("cluster"))
	create(t, namespaceOf(c.Name))
	c.Spec.HubAcceptsClient = true
	for _, edit := range edits {
		edit(c)
	}
	create(t, c)
	availability(t, c, metav1.ConditionTrue, "")
	return c
}

// application returns a builder for an Application in a new namespace, for the cluster.
func application(t *testing.T, c *clusterv1.ManagedCluster) *fixture.ApplicationBuilder {
	t.Helper()
	return fixture.Application("guestbook").Namespace(namespace(t, unique("apps"))).Cluster(c.Name)
}

// create creates an object for the time of the test.
func create(t *testing.T, obj client.Object) {
	t.Helper()
	endUnclaimed()
	obj.SetUID("")
	if _, is := obj.(*corev1.Namespace); is {
		owners.Store(obj.GetName(), t.Name())
	}
	if err := k8s.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
	discardLater(t, obj.DeepCopyObject().(client.Object))
}

// edit changes an object as a user would, and retries after a conflict.
func edit[T client.Object](t *testing.T, obj T, change func(T)) {
	t.Helper()
	patchLatest(t, obj, change, func(patch client.Patch) error { return k8s.Patch(t.Context(), obj, patch) })
}

// editStatus changes the status of an object, as edit changes the rest of the object. A status names a generation, and the
// API server refuses the status when the object has another version meanwhile: change then sees the new version.
func editStatus[T client.Object](t *testing.T, obj T, change func(T)) {
	t.Helper()
	patchLatest(t, obj, change, func(patch client.Patch) error { return k8s.Status().Patch(t.Context(), obj, patch) })
}

// patchLatest reads obj, changes obj and sends the patch, and begins again after a conflict.
func patchLatest[T client.Object](t *testing.T, obj T, change func(T), send func(client.Patch) error) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		before := obj.DeepCopyObject().(T)
		change(obj)
		return send(client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}, soon, tick).Should(Succeed())
}
