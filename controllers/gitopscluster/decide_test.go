package gitopscluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/fixture"
)

func TestChosenBy(t *testing.T) {
	decision := func(clusters ...string) clusterv1beta1.PlacementDecision {
		d := clusterv1beta1.PlacementDecision{}
		for _, c := range clusters {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
		}
		return d
	}
	type decisions []clusterv1beta1.PlacementDecision
	for title, tc := range map[string]struct {
		decisions decisions
		count     int32
		edit      func(*clusterv1beta1.Placement)
		want      []string
		settled   bool
	}{
		"as the status says":                 {decisions{decision("b", "a"), decision("c")}, 3, nil, []string{"a", "b", "c"}, true},
		"one is on its way between two":      {decisions{decision("a"), decision("c")}, 3, nil, []string{"a", "c"}, false},
		"one is in two":                      {decisions{decision("a", "b"), decision("b")}, 3, nil, []string{"a", "b"}, false},
		"the status is behind":               {decisions{decision("a")}, 0, nil, []string{"a"}, false},
		"a decision that has no cluster yet": {decisions{decision("", "a")}, 1, nil, []string{"a"}, true},
		"nothing":                            {decisions{decision()}, 0, nil, nil, true},
		"nothing to choose from": {decisions{decision()}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions[0].Reason = "NoManagedClusterSetBindings"
		}, nil, false},
		"none of its sets is bound": {decisions{decision()}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions[0].Reason = "NoIntersection"
		}, nil, false},
		"no cluster matches": {decisions{decision()}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions[0].Reason = "NoManagedClusterMatched"
		}, nil, true},
		"nobody has looked": {decisions{decision()}, 0, func(p *clusterv1beta1.Placement) { p.Status.Conditions = nil }, nil, false},
		"somebody else decides": {decisions{decision("a")}, 0, func(p *clusterv1beta1.Placement) {
			p.Status.Conditions = nil
			p.Annotations = map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}
		}, []string{"a"}, true},
		"the Placement is going": {decisions{decision("a")}, 1, func(p *clusterv1beta1.Placement) {
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}, []string{"a"}, false},
	} {
		t.Run(title, func(t *testing.T) {
			p := &clusterv1beta1.Placement{}
			p.Status.NumberOfSelectedClusters = tc.count
			p.Status.Conditions = []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied, Reason: "AllDecisionsScheduled"}}
			if tc.edit != nil {
				tc.edit(p)
			}
			s := chosenBy(p, tc.decisions)
			if diff := cmp.Diff(tc.want, s.clusters); diff != "" || s.settled != tc.settled {
				t.Errorf("settled: %t\n%s", s.settled, diff)
			}
		})
	}
}

// TestDropped: the grace has no breaks, and nothing is remembered of what is over.
func TestDropped(t *testing.T) {
	var d dropped
	g, now := types.NamespacedName{Namespace: "argocd", Name: "g"}, time.Now()
	a, b := secret("a", "a", "", 0, true), secret("b", "b", "", 0, true)
	expect := func(after, next time.Duration, due []string, secrets ...*corev1.Secret) {
		t.Helper()
		got, left := d.due(g, secrets, time.Minute, now.Add(after))
		if diff := cmp.Diff(due, slices.Sorted(maps.Keys(got))); diff != "" || left != next {
			t.Errorf("after %s: the next in %s\n%s", after, left, diff)
		}
	}
	expect(0, time.Minute, nil, &a)
	expect(40*time.Second, 20*time.Second, nil, &a, &b)
	expect(70*time.Second, 30*time.Second, []string{"a"}, &a, &b)
	expect(80*time.Second, 20*time.Second, nil, &b) // the other was chosen again
	expect(100*time.Second, time.Minute, []string{"b"}, &a, &b)
	expect(110*time.Second, 0, nil)
	if len(d.since) != 0 {
		t.Errorf("remembered: %v", d.since)
	}
	expect(2*time.Minute, time.Minute, nil, &a)
	d.forget(g)
	expect(4*time.Minute, time.Minute, nil, &a)
}

// secret is one as a cache has it: of a cluster of Towline's, or of somebody else's.
func secret(name, cluster, server string, age int, ours bool) corev1.Secret {
	s := corev1.Secret{Data: map[string][]byte{"name": []byte(cluster), "server": []byte(server)}}
	s.Name, s.CreationTimestamp = name, metav1.Unix(1_700_000_000-int64(age), 0)
	s.Labels = map[string]string{apis.LabelSecretType: apis.SecretTypeCluster}
	if ours {
		s.Labels[apis.LabelImported], s.Labels[apis.LabelClusterName] = "true", cluster
	}
	return s
}

func TestAddressesAreUnique(t *testing.T) {
	const url = "https://api.example.com"
	a, b := fixture.Cluster("a").URL(url).Obj(), fixture.Cluster("b").URL(url, "https://second.example.com").Obj()
	for title, tc := range map[string]struct {
		there []corev1.Secret
		a, b  string
	}{
		"the first gets it":            {nil, url, "https://second.example.com"},
		"who has it keeps it":          {[]corev1.Secret{secret("b", "b", url, 0, true)}, "https://a-control-plane", url},
		"of two the older one":         {[]corev1.Secret{secret("a", "a", url, 1, true), secret("b", "b", url, 2, true)}, "https://a-control-plane", url},
		"somebody else's is not taken": {[]corev1.Secret{secret("x", "x", url+"/", 0, false)}, "https://a-control-plane", "https://second.example.com"},
	} {
		t.Run(title, func(t *testing.T) {
			argo := newArgo("argocd", tc.there)
			gotA, _ := argo.server(a)
			gotB, _ := argo.server(b)
			if gotA != tc.a || gotB != tc.b {
				t.Errorf("a: %s, b: %s", gotA, gotB)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	c := fixture.Cluster("a").URL("https://api.example.com").Obj()
	type secrets []corev1.Secret
	for title, tc := range map[string]struct {
		there secrets
		says  string
	}{
		"none":                    {secrets{secret("x", "x", "https://x", 0, false), secret("a", "a", "https://a", 0, true)}, ""},
		"the name of the cluster": {secrets{secret("x", "a", "https://x", 0, false)}, "label secret x "},
		"its address":             {secrets{secret("x", "x", "https://api.example.com", 0, false)}, "label secret x "},
		"the name of the Secret":  {secrets{secret(clustersecret.Name("a"), "x", "https://x", 0, false)}, "label secret a-cluster-secret "},
		"two of ours":             {secrets{secret("new", "a", "https://a", 0, true), secret("old", "a", "https://b", 1, true)}, "Secrets old and new"},
	} {
		t.Run(title, func(t *testing.T) {
			p := newArgo("argocd", tc.there).conflict(c)
			if p == nil && tc.says != "" || p != nil && (tc.says == "" || !strings.Contains(p.Message, tc.says)) {
				t.Errorf("got %v", p)
			}
		})
	}
}

func TestOutcomeIsShort(t *testing.T) {
	o := &outcome{}
	o.resolve(&selection{}, nil)
	there := map[string]bool{}
	for i := range 5000 {
		name := fmt.Sprintf("cluster-%04d", i)
		there[name] = i < 100
		if i >= 100 {
			o.trouble(name, problemf(apis.ReasonSecretConflict, "Secret of %s is not Towline's", name))
		}
	}
	o.brought(there)
	want := "not as they should be: cluster-0100, cluster-0101, cluster-0102, cluster-0103, cluster-0104 and 4895 more. " +
		"Secret of cluster-0100 is not Towline's. Secret of cluster-0101 is not Towline's. Secret of cluster-0102 is not Towline's"
	if *o.clusters != 100 || o.imported.message != want || o.ready().reason != apis.ReasonSecretConflict {
		t.Errorf("%d: %v", *o.clusters, o.imported)
	}
}

// TestStatusIsWrittenOnce: the same outcome changes nothing, not even the times.
func TestStatusIsWrittenOnce(t *testing.T) {
	result := func() *outcome {
		o := &outcome{}
		o.resolve(&selection{clusters: []string{"a"}}, nil)
		o.brought(map[string]bool{"a": true})
		o.holds("argocd", nil)
		return o
	}
	g := &v1beta1.GitOpsCluster{}
	update(g, result(), metav1.Unix(1, 0))
	first := g.DeepCopy()
	update(g, result(), metav1.Unix(2, 0))
	if diff := cmp.Diff(first, g); diff != "" || g.Status.Phase != v1beta1.PhaseSuccessful || len(g.Status.Conditions) != 4 {
		t.Errorf("%v\n%s", g.Status, diff)
	}
}

func TestHeld(t *testing.T) {
	x, y := types.NamespacedName{Name: "x"}, types.NamespacedName{Name: "y"}
	var h held
	h.add(x, []string{"a", "b"})
	h.add(y, []string{"a"})
	h.set(x, []string{"b"})
	if diff := cmp.Diff([]types.NamespacedName{y}, h.of("a")); diff != "" {
		t.Error(diff)
	}
	h.set(x, nil)
	h.set(y, nil)
	if len(h.waiting) > 0 {
		t.Errorf("remembered for nothing: %v", h.waiting)
	}
}
