package managedcluster_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/managedcluster"
)

func available(c *clusterv1.ManagedCluster, status metav1.ConditionStatus) *clusterv1.ManagedCluster {
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Message: "the lease is old"})
	return c
}

func TestAwaitedClusters(t *testing.T) {
	leaving := available(fixture.Cluster("c").Obj(), metav1.ConditionTrue)
	leaving.DeletionTimestamp = &metav1.Time{}
	leaving.DeletionTimestamp.Time = metav1.Unix(1, 0).Time
	refused := available(fixture.Cluster("c").Obj(), metav1.ConditionTrue)
	refused.Spec.HubAcceptsClient = false
	for title, tc := range map[string]struct {
		cluster      *clusterv1.ManagedCluster
		notWaitedFor string
		heard        bool
	}{
		"none":           {notWaitedFor: "the ManagedCluster does not exist any more"},
		"available":      {cluster: available(fixture.Cluster("c").Obj(), metav1.ConditionTrue), heard: true},
		"away":           {cluster: available(fixture.Cluster("c").Obj(), metav1.ConditionUnknown)},
		"never heard of": {cluster: fixture.Cluster("c").Obj()},
		"being deleted":  {cluster: leaving, notWaitedFor: "the ManagedCluster is being deleted"},
		"not accepted":   {cluster: refused, notWaitedFor: "the ManagedCluster is not accepted any more"},
	} {
		t.Run(title, func(t *testing.T) {
			f := managedcluster.Of(tc.cluster, nil)
			if f.NotWaitedFor() != tc.notWaitedFor || f.Heard() != tc.heard {
				t.Errorf("got %q, %t", f.NotWaitedFor(), f.Heard())
			}
		})
	}
}

// TestFactsDiffer: the facts differ exactly if an input of a decision differs. The cluster's agent can write the
// whole ManagedCluster, so a pause and an address in the ManagedCluster do not count.
func TestFactsDiffer(t *testing.T) {
	fresh := func() *clusterv1.ManagedCluster {
		return available(fixture.Cluster("c").Label("set", "a").Obj(), metav1.ConditionTrue)
	}
	for title, tc := range map[string]struct {
		edit func(*clusterv1.ManagedCluster)
		want bool
	}{
		"nothing":       {func(*clusterv1.ManagedCluster) {}, false},
		"another label": {func(c *clusterv1.ManagedCluster) { c.Labels["x"] = "y" }, true},
		"pauses itself": {func(c *clusterv1.ManagedCluster) { c.Annotations = map[string]string{apis.AnnotationPaused: "true"} }, false},
		"an address of its own": {func(c *clusterv1.ManagedCluster) {
			c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: "https://x"}}
		}, false},
		"an address in an annotation of its own": {func(c *clusterv1.ManagedCluster) {
			c.Annotations = map[string]string{apis.AnnotationServer: "https://x"}
		}, false},
		"not available": {func(c *clusterv1.ManagedCluster) { c.Status.Conditions[0].Status = metav1.ConditionUnknown }, true},
		"its capacity":  {func(c *clusterv1.ManagedCluster) { c.Status.Capacity = clusterv1.ResourceList{} }, false},
		"not accepted":  {func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false }, true},
		"its namespace": {func(c *clusterv1.ManagedCluster) {
			c.Status.Conditions = append(c.Status.Conditions,
				metav1.Condition{Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue})
		}, true},
		"is the hub": {func(c *clusterv1.ManagedCluster) { c.Labels[apis.LabelLocalCluster] = "true" }, true},
	} {
		t.Run(title, func(t *testing.T) {
			c := fresh()
			tc.edit(c)
			if got := managedcluster.Of(c, nil) != managedcluster.Of(fresh(), nil); got != tc.want {
				t.Errorf("they differ: %t", got)
			}
			if got := managedcluster.Changed(fresh(), c); got != tc.want {
				t.Errorf("it changed: %t", got)
			}
		})
	}
}

// TestNamespaceChanged: administrators pause a cluster in its namespace, and set the cluster's address there.
func TestNamespaceChanged(t *testing.T) {
	of := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: annotations}}
	}
	paused, address := map[string]string{apis.AnnotationPaused: "true"}, map[string]string{apis.AnnotationServer: "https://x"}
	for title, tc := range map[string]struct {
		before, after *metav1.PartialObjectMetadata
		want          bool
	}{
		"it comes":                 {nil, of(nil), false},
		"it comes, paused":         {nil, of(paused), true},
		"it goes, paused":          {of(paused), nil, true},
		"a pause":                  {of(nil), of(paused), true},
		"a pause that is none":     {of(nil), of(map[string]string{apis.AnnotationPaused: "false"}), false},
		"an address":               {of(nil), of(address), true},
		"another spelling of it":   {of(address), of(map[string]string{apis.AnnotationServer: "https://x/"}), false},
		"sources through the hub":  {of(nil), of(map[string]string{apis.AnnotationSource: apis.SourceHub}), true},
		"sources from the servers": {of(nil), of(map[string]string{apis.AnnotationSource: apis.SourceDirect}), true},
		"something else":           {of(nil), of(map[string]string{"note": "x"}), false},
		"nothing, while it paused": {of(paused), of(paused), false},
	} {
		if got := managedcluster.NamespaceChanged(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: %t", title, got)
		}
	}
}

// TestReading: the cluster can change the label of its ManagedCluster, but not the annotation of its namespace.
func TestReading(t *testing.T) {
	for title, tc := range map[string]struct {
		label, namespace, app string
		hub                   bool
	}{
		"no choice":                    {},
		"the label":                    {label: "hub", hub: true},
		"the namespace":                {namespace: "hub", hub: true},
		"the namespace, not the label": {label: "hub", namespace: "direct"},
		"an odd value":                 {namespace: "Direct", hub: true},
		"the Application":              {namespace: "direct", app: "hub", hub: true},
		"the Application, directly":    {label: "hub", namespace: "hub", app: "direct"},
	} {
		c, app := fixture.Cluster("c").Label(apis.AnnotationSource, tc.label).Obj(), fixture.Application("web")
		ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: map[string]string{apis.AnnotationSource: tc.namespace}}}
		got := managedcluster.Of(c, ns).Reading(app.Annotation(apis.AnnotationSource, tc.app).Obj()).SourceAddress
		if (got == apis.DefaultSourceAddress) != tc.hub {
			t.Errorf("%s: the cluster reads at %q", title, got)
		}
	}
}

// TestAnOddPause: a pause with an odd value counts, also without the ManagedCluster, as in a restore.
func TestAnOddPause(t *testing.T) {
	ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: map[string]string{apis.AnnotationPaused: "maybe"}}}
	for _, c := range []*clusterv1.ManagedCluster{nil, fixture.Cluster("c").Obj()} {
		if got := managedcluster.Of(c, ns).Paused; !strings.HasPrefix(got, "Namespace c, whose value \"maybe\"") {
			t.Errorf("got %q", got)
		}
	}
}

func TestUnreachable(t *testing.T) {
	c := &clusterv1.ManagedCluster{}
	c.Name, c.CreationTimestamp = "cluster1", metav1.Unix(1_700_000_000, 0)
	if got := managedcluster.Unreachable(c); !strings.Contains(got, "2023-11-14T22:13:20Z") {
		t.Errorf("a cluster that never came: %q", got)
	}
	available := metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown,
		Message: "Registration agent stopped updating its lease.", LastTransitionTime: metav1.Unix(1_700_000_060, 0)}
	c.Status.Conditions = []metav1.Condition{available}
	want := "cluster cluster1 has not been available since 2023-11-14T22:14:20Z: Registration agent stopped updating its lease."
	if got := managedcluster.Unreachable(c); got != want {
		t.Errorf("got %q", got)
	}
	c.Status.Conditions[0].Status = metav1.ConditionTrue
	if got := managedcluster.Unreachable(c); got != "" {
		t.Errorf("an available cluster: %q", got)
	}
}

func TestCameOrWent(t *testing.T) {
	cluster := func(status metav1.ConditionStatus, since int64, message string) *clusterv1.ManagedCluster {
		c := &clusterv1.ManagedCluster{}
		if status != "" {
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable,
				Status: status, Message: message, LastTransitionTime: metav1.Unix(since, 0)}}
		}
		return c
	}
	for title, tc := range map[string]struct {
		before, after *clusterv1.ManagedCluster
		want          bool
	}{
		"comes for the first time":   {cluster("", 0, ""), cluster("True", 1, ""), true},
		"is still not heard of":      {cluster("", 0, ""), cluster("", 0, ""), false},
		"goes":                       {cluster("True", 1, ""), cluster("Unknown", 2, ""), true},
		"comes back":                 {cluster("False", 1, ""), cluster("True", 2, ""), true},
		"came back and went between": {cluster("False", 1, ""), cluster("False", 3, ""), true},
		"is gone, in other words":    {cluster("False", 1, "a"), cluster("False", 1, "b"), false},
		"went and came between":      {cluster("True", 1, ""), cluster("True", 3, ""), false},
		"is there, in other words":   {cluster("True", 1, "a"), cluster("True", 1, "b"), false},
	} {
		if got := managedcluster.CameOrWent(tc.before, tc.after); got != tc.want {
			t.Errorf("a cluster that %s: %v", title, got)
		}
	}
}
