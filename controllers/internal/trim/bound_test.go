package trim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/controllers/internal/trim"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// large returns a text of n bytes, unique for the values of of.
func large(n int, of ...any) string {
	mark := fmt.Sprintln(of...)
	return mark + strings.Repeat("x", n-len(mark))
}

// pairs returns labels or annotations of 250 KiB.
func pairs(prefix string, of int) map[string]string {
	out := map[string]string{}
	for i := range 250 {
		out[fmt.Sprintf("%s%d-%d", prefix, of, i)] = large(1000, of, i)
	}
	return out
}

// stuffedWorks are works as a hostile cluster can write them, each at least some hundreds of KiB. i makes each work
// unique.
var stuffedWorks = map[string]func(w *workv1.ManifestWork, i int){
	"a message": func(w *workv1.ManifestWork, i int) {
		values := w.Status.ResourceStatus.Manifests[0].StatusFeedbacks.Values
		text := large(1<<20, i)
		values[0].Value.String = &text
	},
	"many values": func(w *workv1.ManifestWork, i int) {
		m := &w.Status.ResourceStatus.Manifests[0]
		for n := range 5000 {
			text := large(100, i, n)
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values,
				workv1.FeedbackValue{Name: fmt.Sprint("invented", n), Value: workv1.FieldValue{Type: workv1.String, String: &text}})
		}
	},
	"many manifests": func(w *workv1.ManifestWork, i int) {
		for n := range 1000 {
			w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
				ResourceMeta: workv1.ManifestResourceMeta{Name: fmt.Sprint(n)},
				Conditions:   []metav1.Condition{{Type: workv1.WorkApplied, Message: large(500, i, n)}},
			})
		}
	},
	"conditions": func(w *workv1.ManifestWork, i int) {
		for n := range 50 {
			w.Status.Conditions = append(w.Status.Conditions, metav1.Condition{Type: fmt.Sprint("Invented", n), Message: large(32<<10, i, n)})
		}
		w.Status.Conditions[0].Message = large(32<<10, i)
	},
	"labels":          func(w *workv1.ManifestWork, i int) { maps.Copy(w.Labels, pairs("x/", i)) },
	"our labels":      func(w *workv1.ManifestWork, i int) { maps.Copy(w.Labels, pairs(apis.Group+"/x", i)) },
	"annotations":     func(w *workv1.ManifestWork, i int) { maps.Copy(w.Annotations, pairs("x/", i)) },
	"our annotations": func(w *workv1.ManifestWork, i int) { maps.Copy(w.Annotations, pairs(apis.Group+"/x", i)) },
	"no mark":         func(w *workv1.ManifestWork, i int) { w.Annotations = pairs(apis.Group+"/x", i) },
	"a long one": func(w *workv1.ManifestWork, i int) {
		w.Annotations[apis.AnnotationRequestSent] = large(200<<10, i)
	},
	"whom it is released to": func(w *workv1.ManifestWork, i int) { w.Annotations[apis.AnnotationReleasedTo] = large(200<<10, i) },
	"finalizers": func(w *workv1.ManifestWork, i int) {
		for n := range 2000 {
			w.Finalizers = append(w.Finalizers, fmt.Sprintf("x/%d-%d", i, n))
		}
		w.Finalizers = append(w.Finalizers, workv1.ManifestWorkFinalizer)
	},
	"owners": func(w *workv1.ManifestWork, i int) {
		for n := range 2000 {
			w.OwnerReferences = append(w.OwnerReferences, metav1.OwnerReference{Name: large(200, i, n)})
		}
	},
	"one owner": func(w *workv1.ManifestWork, i int) {
		w.OwnerReferences = []metav1.OwnerReference{{Name: large(1<<20, i)}}
	},
	"the payload": func(w *workv1.ManifestWork, i int) {
		w.Spec.Workload.Manifests[0].Raw = []byte(`"` + strings.TrimSpace(strings.ReplaceAll(large(1<<20, i), "\n", "")) + `"`)
	},
	"options": func(w *workv1.ManifestWork, i int) {
		for n := range 2000 {
			w.Spec.ManifestConfigs = append(w.Spec.ManifestConfigs,
				workv1.ManifestConfigOption{ResourceIdentifier: workv1.ResourceIdentifier{Name: large(200, i, n)}})
		}
	},
	"the executor": func(w *workv1.ManifestWork, i int) {
		w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
			ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Name: large(1<<20, i)},
		}}
	},
	"what is orphaned": func(w *workv1.ManifestWork, i int) {
		rule := workv1.OrphaningRule{Name: large(1<<20, i)}
		w.Spec.DeleteOption = &workv1.DeleteOption{SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: []workv1.OrphaningRule{rule}}}
	},
}

var stuffedClusters = map[string]func(c *clusterv1.ManagedCluster, i int){
	"labels":      func(c *clusterv1.ManagedCluster, i int) { maps.Copy(c.Labels, pairs("x/", i)) },
	"annotations": func(c *clusterv1.ManagedCluster, i int) { c.Annotations = pairs("x/", i) },
	"authorities": func(c *clusterv1.ManagedCluster, i int) {
		c.Spec.ManagedClusterClientConfigs[0].CABundle = []byte(large(1<<20, i))
	},
	"addresses": func(c *clusterv1.ManagedCluster, i int) {
		for n := range 500 {
			c.Spec.ManagedClusterClientConfigs = append(c.Spec.ManagedClusterClientConfigs, clusterv1.ClientConfig{URL: large(2000, i, n)})
		}
	},
	"taints": func(c *clusterv1.ManagedCluster, i int) {
		for n := range 1000 {
			c.Spec.Taints = append(c.Spec.Taints, clusterv1.Taint{Key: large(300, i, n)})
		}
	},
	"claims": func(c *clusterv1.ManagedCluster, i int) {
		for n := range 5000 {
			c.Status.ClusterClaims = append(c.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: fmt.Sprint(n), Value: large(100, i, n)})
		}
	},
	"a claim": func(c *clusterv1.ManagedCluster, i int) {
		c.Status.ClusterClaims = append(c.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: "x", Value: large(1<<20, i)})
	},
	"conditions": func(c *clusterv1.ManagedCluster, i int) {
		for n := range 50 {
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: fmt.Sprint(n), Message: large(32<<10, i, n)})
		}
	},
}

func managed() *clusterv1.ManagedCluster {
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster1", Labels: map[string]string{
		clusterv1beta2.ClusterSetLabel: "production", apis.LabelLocalCluster: "true",
	}}}
	c.Spec.ManagedClusterClientConfigs = []clusterv1.ClientConfig{{URL: "https://cluster1"}}
	c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "region", Value: "eu"}}
	return c
}

// TestMemoryOfStuffedObjects: a cluster cannot decide how much memory its objects take. The memory is freed with
// the objects, in spite of parts shared among objects.
func TestMemoryOfStuffedObjects(t *testing.T) {
	for title, stuff := range stuffedWorks {
		t.Run("work: "+title, func(t *testing.T) {
			heldOf(t, &workv1.ManifestWork{}, trim.Work, func(i int) any {
				w := reported(t)
				stuff(w, i)
				return w
			})
		})
	}
	for title, stuff := range stuffedClusters {
		t.Run("cluster: "+title, func(t *testing.T) {
			heldOf(t, &clusterv1.ManagedCluster{}, trim.Cluster, func(i int) any {
				c := managed()
				stuff(c, i)
				return c
			})
		})
	}
}

// heldOf measures the live memory of the objects, and the remaining memory after their removal.
func heldOf[T any](t *testing.T, _ *T, transform func(any) (any, error), object func(i int) any) {
	t.Helper()
	const n, most, after = 10, 64 << 10, 128 << 10
	before := live()
	held := make([]any, n)
	size := 0
	for i := range n {
		data, err := json.Marshal(object(i))
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
		held[i] = slimmed(t, data, new(T), transform)
	}
	if got := (int(live()) - int(before)) / n; got > most {
		t.Errorf("%d bytes are held of an object that has %d", got, size/n)
	}
	runtime.KeepAlive(held)
	clear(held)
	if got := int(live()) - int(before); got > after {
		t.Errorf("%d bytes are held of %d objects that are gone", got, n)
	}
}

// TestPartsReadFromStuffedWorks: the parts of a work read by Towline remain, in spite of additions by a cluster.
func TestPartsReadFromStuffedWorks(t *testing.T) {
	for title, stuff := range stuffedWorks {
		t.Run(title, func(t *testing.T) {
			w := reported(t)
			stuff(w, 1)
			got, err := trim.Work(decoded(t, w))
			if err != nil {
				t.Fatal(err)
			}
			held := got.(*workv1.ManifestWork)
			if title != "no mark" && (held.Labels[apis.LabelPull] != "true" || held.Annotations[apis.AnnotationHubName] != "guestbook" ||
				held.Annotations[apis.AnnotationHubNamespace] == "") {
				t.Errorf("labels %v, annotations %.500v", held.Labels, held.Annotations)
			}
			if title == "finalizers" && !slices.Contains(held.Finalizers, workv1.ManifestWorkFinalizer) {
				t.Error("the agent's finalizer is not held")
			}
			if len(held.Status.ResourceStatus.Manifests) == 0 || len(held.Status.Conditions) == 0 {
				t.Error("nothing is held of what the agent reports")
			}
			if held.Spec.Executor != nil && w.Spec.Executor == nil || held.Spec.Executor == nil && w.Spec.Executor != nil {
				t.Error("an executor that the cluster has set cannot be told from none")
			}
		})
	}
}

// TestPartsReadFromStuffedClusters: labels that decide rights have priority.
func TestPartsReadFromStuffedClusters(t *testing.T) {
	c := managed()
	for _, stuff := range stuffedClusters {
		stuff(c, 1)
	}
	got, err := trim.Cluster(decoded(t, c))
	if err != nil {
		t.Fatal(err)
	}
	held := got.(*clusterv1.ManagedCluster)
	if held.Labels[clusterv1beta2.ClusterSetLabel] != "production" || held.Labels[apis.LabelLocalCluster] != "true" {
		t.Errorf("labels %.500v", held.Labels)
	}
	if held.Spec.ManagedClusterClientConfigs[0].URL != "https://cluster1" || held.Status.ClusterClaims[0].Name != "region" {
		t.Errorf("got %.500v, %.500v", held.Spec, held.Status.ClusterClaims)
	}
}

// TestReplacedIsKeptWhole: a work keeps AnnotationReplaced up to the maximum size.
func TestReplacedIsKeptWhole(t *testing.T) {
	for size, want := range map[int]int{work.MaxReplaced: work.MaxReplaced, work.MaxReplaced + 1: 0} {
		w := reported(t)
		w.Annotations[apis.AnnotationReplaced] = strings.Repeat("x", size)
		got, err := trim.Work(decoded(t, w))
		if err != nil {
			t.Fatal(err)
		}
		if held := len(got.(*workv1.ManifestWork).Annotations[apis.AnnotationReplaced]); held != want {
			t.Errorf("%d bytes of %d are held", held, size)
		}
	}
}

// TestReleasedToIsKeptWhole: a work with dependencies keeps the whole annotation AnnotationReleasedTo of
// Towline.
func TestReleasedToIsKeptWhole(t *testing.T) {
	w := reported(t)
	w.Name = dependency.ObjectsKey(work.Key(fixture.Application("guestbook").Obj())).Name
	w.Annotations[apis.AnnotationReleasedTo] = strings.Repeat("a/b,", 10_000)
	got, err := trim.Work(decoded(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if held := got.(*workv1.ManifestWork).Annotations[apis.AnnotationReleasedTo]; held != w.Annotations[apis.AnnotationReleasedTo] {
		t.Errorf("%d bytes of %d are held", len(held), len(w.Annotations[apis.AnnotationReleasedTo]))
	}
}
