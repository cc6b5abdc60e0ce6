package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/check"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/fixture/golden"
	"github.com/towline-io/towline/pkg/managedresources"
	"github.com/towline-io/towline/pkg/reading"
	"github.com/towline-io/towline/pkg/why"
)

// deploy creates a Deployment with a ready Pod.
func deploy(t *testing.T, namespace, name, image string, labels map[string]string, edits ...func(*corev1.Container)) *appsv1.Deployment {
	t.Helper()
	pod := map[string]string{"pod": name}
	container := corev1.Container{Name: "c", Image: image}
	for _, e := range edits {
		e(&container)
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: pod}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pod}, Spec: corev1.PodSpec{ServiceAccountName: name, Containers: []corev1.Container{container}},
		}},
	}
	create(t, d)
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}
	if err := admin.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// argoAddOn gives a cluster Open Cluster Management's add-on argocd, with the pull controller of the add-on on the
// hub.
func argoAddOn(t *testing.T, cluster string) {
	t.Helper()
	deploy(t, "check-argocd", "argocd-pull-integration", "x", nil)
	space(t, cluster)
	for _, text := range []string{
		`{"kind": "AddOnTemplate", "metadata": {"name": "argocd"}, "spec": {"addonName": "argocd", "agentSpec": {"workload": {"manifests": [
			{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "applications.argoproj.io"}}]}}}}`,
		`{"kind": "ManagedClusterAddOn", "metadata": {"name": "argocd", "namespace": "` + cluster + `"}, "spec": {}}`,
	} {
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetAPIVersion("addon.open-cluster-management.io/v1alpha1")
		create(t, u)
	}
}

// kubernetesVersion matches the version of the API server, which varies.
var kubernetesVersion = regexp.MustCompile(`v1\.\d+\.\d+\S*`)

// checks runs a check, and returns the output.
func checks(t *testing.T, user string, args ...string) (string, int) {
	t.Helper()
	s := as(t, user, "", append([]string{"check"}, args...)...)
	return kubernetesVersion.ReplaceAllString(s.out+s.errOut, "v1.x"), s.code
}

// TestCheck checks an empty hub with only CRDs, a complete hub, and a user without rights.
func TestCheck(t *testing.T) {
	var all strings.Builder
	say := func(title, user string, args ...string) int {
		out, code := checks(t, user, args...)
		all.WriteString("$ kubectl towline check " + strings.Join(args,
			" ") + "    # " + title + "\n" + out + "exit code " + string(rune('0'+code)) + "\n\n")
		return code
	}
	if code := say("a hub without controllers", "", "--pre"); code != exitBlocked {
		t.Errorf("exit code %d", code)
	}
	if code := say("the same, by a stranger", "stranger", "--pre"); code != exitBlocked {
		t.Errorf("exit code %d", code)
	}
	if code := say("Towline is not there", ""); code != exitBlocked {
		t.Errorf("exit code %d", code)
	}

	space(t, "check-argocd")
	deploy(t, "check-argocd", "sets", "quay.io/argoproj/argocd:v3.5.7", map[string]string{"app.kubernetes.io/name": "argocd-applicationset-controller"})
	bindTowline(t, "check-argocd")
	deploy(t, "check-argocd", "towline-controller", "r.example/towline:v0.1.0",
		map[string]string{"app.kubernetes.io/name": "towline", "app.kubernetes.io/component": "controller"},
		func(c *corev1.Container) { c.Args = []string{"controller", "--argocd-redis=/etc/towline/redis"} })
	create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "check-argocd", Name: "towline-controller"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("towline-controller-1"), RenewTime: ptr.To(metav1.NewMicroTime(time.Now())),
	}})
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "check-c1"}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	create(t, c)
	c.Status.Conditions = []metav1.Condition{{Type: "ManagedClusterConditionAvailable", Status: "True", Reason: "R", LastTransitionTime: metav1.Now()}}
	if err := admin.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	deploy(t, "check-argocd", "multicluster-integrations", "x", nil)
	argoAddOn(t, "check-c1")
	mislabelled := fixture.Application("mislabelled").Namespace("check-argocd").Cluster("check-c1").Obj()
	mislabelled.Annotations[apis.LabelPull], mislabelled.Labels = mislabelled.Labels[apis.LabelPull], nil
	create(t, mislabelled)
	if code := say("with an older controller", ""); code != exitBlocked {
		t.Errorf("exit code %d", code)
	}
	golden.Equal(t, "check.golden", []byte(all.String()))
}

// TestCheckTakeover checks that the prediction is Towline's own decision.
func TestCheckTakeover(t *testing.T) {
	for _, name := range []string{"takeover", "takeover-c1"} {
		space(t, name)
	}
	create(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "takeover-c1"}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	forbidden := app(t, fixture.Application("forbidden").Namespace("takeover").Cluster("takeover-c1"))
	app(t, fixture.Application("nowhere").Namespace("takeover").Cluster("takeover-c9"))
	older := fixture.OlderWork(forbidden, true)
	lost := fixture.OlderWork(fixture.Application("lost").Namespace("takeover").Cluster("takeover-c1").Obj(), false)
	create(t, older, lost)
	out, code := checks(t, "", "--takeover", "--argocd-namespace", "takeover")
	if code != exitBlocked {
		t.Errorf("exit code %d", code)
	}
	for _, says := range []string{
		"forbidden", "reason ClusterForbidden: takeover/forbidden", "reason ClusterNotFound: takeover/nowhere", "kubectl towline why -n takeover nowhere",
		"would be kept until a person decides: takeover-c1/lost-",
	} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not in\n%s", says, out)
		}
	}
	if out, code := checks(t, "stranger", "--takeover"); code != exitUnread || !strings.Contains(out, "cannot list resource") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestCheckCluster checks a managed cluster with a kubeconfig of the cluster.
func TestCheckCluster(t *testing.T) {
	u, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := u.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cluster")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	space(t, "check-cluster")
	deploy(t, "check-cluster", "argo", "quay.io/argoproj/argocd:v2.14.21", map[string]string{"app.kubernetes.io/name": "argocd-application-controller"})
	deploy(t, "check-cluster", "klusterlet-agent", "x", nil)
	var all strings.Builder
	for _, agent := range []string{"system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa", "system:masters-are-groups",
		"of-the-cluster"} {
		if agent == "of-the-cluster" {
			may(t, agent, "check-cluster", rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"*"}, Verbs: []string{"*"}})
		}
		out, code := checks(t, "", "--cluster-kubeconfig", file, "--cluster-argocd-namespace", "check-cluster", "--work-agent", agent)
		all.WriteString("# as " + agent + "\n" + out + "exit code " + string(rune('0'+code)) + "\n\n")
	}
	golden.Equal(t, "check-cluster.golden", []byte(all.String()))
}

// TestCheckUnread checks that a check with refused reads does not claim that all works.
func TestCheckUnread(t *testing.T) {
	var out, errOut bytes.Buffer
	o := newOptions(genericiooptions.IOStreams{Out: &out, ErrOut: &errOut})
	code := exitCode(o.conclude([]check.Line{{Name: "a", State: why.Waiting}, {Name: "b", State: why.Unknown}}), &errOut)
	if code != exitUnread || !strings.Contains(out.String(), "could not be read") || strings.Contains(out.String(), "It works") {
		t.Errorf("%d: %s%s", code, &out, &errOut)
	}
}

// counting counts the reads.
type counting struct {
	client.Client

	reads int
}

func (c *counting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.Client.Get(ctx, key, obj, opts...)
}

func (c *counting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.reads++
	return c.Client.List(ctx, list, opts...)
}

// TestTakeoverReads checks that decisions about many Applications read shared objects once.
func TestTakeoverReads(t *testing.T) {
	for _, name := range []string{"many", "many-c1"} {
		space(t, name)
	}
	create(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "many-c1"}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	const n = 20
	for i := range n {
		app(t, fixture.Application(fmt.Sprintf("app-%d", i)).Namespace("many").Cluster("many-c1"))
	}
	c := &counting{Client: admin}
	lines, err := takeover(t.Context(), c, &reading.Flags{ArgoCDNamespace: "many"})
	if err != nil || check.Verdict(lines) != why.Blocked {
		t.Fatalf("%v: %+v", err, lines)
	}
	t.Logf("%d reads for %d Applications", c.reads, n)
	if c.reads > 5*n+20 {
		t.Errorf("%d reads for %d Applications", c.reads, n)
	}
}

// TestTakeoverWithFewRights checks that a refused read for an Application does not affect the other Applications.
func TestTakeoverWithFewRights(t *testing.T) {
	for _, name := range []string{"few", "few-c1", "few-c2"} {
		space(t, name)
		create(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	}
	for i := range 3 {
		app(t, fixture.Application(fmt.Sprintf("hidden-%d", i)).Namespace("few").Cluster("few-c1"))
	}
	app(t, fixture.Application("shown").Namespace("few").Cluster("few-c2"))
	lines, err := takeover(t.Context(), &refusing{admin, "few-c1"}, &reading.Flags{ArgoCDNamespace: "few"})
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%+v", lines)
	if !strings.Contains(said, "3 Applications, without all the facts for a decision: few/hidden-0") ||
		!strings.Contains(said, "reason ClusterForbidden: few/shown") {
		t.Error(said)
	}
	reads := 0
	once := &remembering{Client: &refusing{admin, "few-c1"}, known: map[string]runtime.Object{}, refused: map[string]error{}}
	for range 2 {
		if err := once.once("x", nil, func() error { reads++; return apierrors.NewForbidden(schema.GroupResource{}, "x", nil) }); err == nil {
			t.Error("it was not refused")
		}
	}
	if reads != 1 || once.refusal == nil {
		t.Errorf("%d reads, %v", reads, once.refusal)
	}
	may := func(kinds ...string) client.Client { return &refusingLists{Client: admin, kinds: kinds} }
	if lines, err = takeover(t.Context(), may("ManifestWorkList"), &reading.Flags{ArgoCDNamespace: "few"}); err != nil ||
		!strings.Contains(fmt.Sprintf("%+v", lines), "you may not read manifestworks in all namespaces") {
		t.Errorf("%v: %+v", err, lines)
	}
}

// refusingLists refuses to list kinds in all namespaces.
type refusingLists struct {
	client.Client

	kinds []string
}

func (c *refusingLists) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	if o.ApplyOptions(opts); o.Namespace == "" && slices.Contains(c.kinds, list.GetObjectKind().GroupVersionKind().Kind) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", nil)
	}
	return c.Client.List(ctx, list, opts...)
}

// refusing refuses all reads in a namespace.
type refusing struct {
	client.Client

	namespace string
}

func (c *refusing) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if key.Namespace == c.namespace {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, key.Name, nil)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// TestLeaseIsFound checks that a readable Lease counts, even if the reads in other namespaces are refused before or
// after.
func TestLeaseIsFound(t *testing.T) {
	space(t, "lease-m")
	create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "lease-m", Name: "towline-controller"}})
	for _, refused := range []string{"lease-a", "lease-z"} {
		facts := &check.Facts{Namespace: "lease-m", Unread: map[string]bool{}, Workloads: []check.Workload{
			{Namespace: refused, Labels: map[string]string{"app.kubernetes.io/name": "towline"}},
		}}
		r := &factReader{Client: &refusing{admin, refused}, facts: facts}
		if err := r.leases(t.Context()); err != nil || facts.Lease == nil || facts.Unread[check.Leases] {
			t.Errorf("%s: %v, %+v", refused, err, facts)
		}
	}
}

// withoutRedis answers for a towline-source that cannot reach Redis.
type withoutRedis struct{ client.Client }

func (c *withoutRedis) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if of, is := obj.(*unstructured.Unstructured); is && of.GetKind() == managedresources.Kind {
		return unstructured.SetNestedField(of.Object, string(managedresources.ReasonRedisUnavailable), "status", "reason")
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// TestDifferencesAreRead checks the facts about managed resources: the option of the agents, and the setting of Argo CD.
func TestDifferencesAreRead(t *testing.T) {
	const namespace = "differences"
	space(t, namespace)
	template := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"kind": "AddOnTemplate", "metadata": {"name": "towline-agent"}, "spec": {"addonName": "towline-agent",
		"agentSpec": {"workload": {"manifests": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "towline-agent"}, "spec": {
		"template": {"spec": {"containers": [{"image": "towline", "args": ["agent", "--argocd-managed-resources=argocd"]}]}}}}]}}}}`),
		&template.Object); err != nil {
		t.Fatal(err)
	}
	template.SetAPIVersion("addon.open-cluster-management.io/v1alpha1")
	create(t, template)
	create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: check.Settings},
		Data: map[string]string{"cluster.inClusterEnabled": "false"}})
	facts := &check.Facts{Namespace: namespace, Unread: map[string]bool{}, Workloads: []check.Workload{{
		Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/name": "towline-source"}, ManagedResources: "guarded",
	}}}
	r := &factReader{Client: admin, facts: facts}
	if err := all(t.Context(), r.template, r.settings); err != nil || !facts.Sends || facts.Door || !facts.HubRefused {
		t.Errorf("%v: %+v", err, facts)
	}
	r.Client = &withoutRedis{admin}
	if err := r.managed(t.Context()); err != nil || facts.RedisAway {
		t.Errorf("without an Application: %v: %+v", err, facts)
	}
	r.sample = fixture.Application("a").Cluster("cluster1").Obj()
	if err := r.managed(t.Context()); err != nil || !facts.RedisAway {
		t.Errorf("%v: %+v", err, facts)
	}
	r.Client = &refusing{admin, "cluster1"}
	if err := r.managed(t.Context()); err != nil || facts.RedisAway {
		t.Errorf("refused: %v: %+v", err, facts)
	}
	r.Client = &refusing{admin, namespace}
	if err := r.settings(t.Context()); err != nil || !facts.Unread[check.Settings] || facts.HubRefused {
		t.Errorf("%v: %+v", err, facts)
	}
}
