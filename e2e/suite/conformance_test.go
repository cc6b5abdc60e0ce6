package suite

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/propagation/simulation"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/fixture"
	"github.com/towline-io/towline/pkg/work"
)

// The simulation of propagation is a model. These specs expect the same observations from the fleet.
var _ = Describe("The model of the simulation", func() {
	data, err := os.ReadFile("../../controllers/propagation/simulation/testdata/conformance.txt")
	if err != nil {
		panic(err)
	}
	for i, c := range simulation.ParseCases(string(data)) {
		if slices.ContainsFunc(c.Steps, func(s simulation.Step) bool { return s.Op == "namespace" }) {
			continue // the fleet's Argo CD watches a single namespace
		}
		It("shows what the fleet shows: "+c.Title, func(ctx SpecContext) {
			r := &conformance{name: fmt.Sprintf("conforms-%d", i), observer: &simulation.Observer{}}
			DeferCleanup(r.end)
			seen := c.Observations
			for _, s := range c.Steps {
				if s.Op != "settle" {
					r.do(ctx, s)
					continue
				}
				want := seen[0]
				Eventually(ctx, func(ctx context.Context) (string, error) { return r.observe(ctx, want) }).Should(Equal(want))
				seen = seen[1:]
			}
		})
	}
})

// conformance runs a script for an Application with a unique name.
type conformance struct {
	name     string
	observer *simulation.Observer
}

// fleetClusters maps a script's cluster names to the fleet's clusters.
var fleetClusters = map[string]string{"c1": "cluster1", "c2": "cluster2", "c9": "cluster9"}

// patched maps steps to the annotations that they set.
var patched = map[string]string{
	"move": apis.AnnotationCluster, "release": apis.AnnotationRelease, "pause": apis.AnnotationPaused, "skip": apis.AnnotationSkipReconcile,
}

// do runs a user's step.
func (r *conformance) do(ctx context.Context, s simulation.Step) {
	GinkgoHelper()
	if key, is := patched[s.Op]; is {
		value := s.What
		if there, named := fleetClusters[value]; named {
			value = there
		}
		patchHub(ctx, r.name, annotationPatch(key, value))
		return
	}
	switch s.Op {
	case "create":
		Expect(hub.Create(ctx, r.application(strings.Fields(s.What)))).To(Succeed())
	case "delete":
		Expect(hub.Delete(ctx, named(r.name))).To(Succeed())
	case "finalizers":
		list := "null"
		if s.What != "" {
			list = fmt.Sprintf("[%q]", apis.FinalizerResources)
		}
		patchHub(ctx, r.name, `{"metadata":{"finalizers":`+list+`}}`)
	case "label":
		value := "null"
		if s.What != "" {
			value = fmt.Sprintf("%q", s.What)
		}
		patchHub(ctx, r.name, fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, apis.LabelPull, value))
	case "spec":
		patchHub(ctx, r.name, fmt.Sprintf(`{"spec":{"info":[{"name":"revision","value":%q}]}}`, s.What))
	case "pause-cluster":
		ns := &corev1.Namespace{}
		ns.Name = fleetClusters[s.Who]
		Expect(hub.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(annotationPatch(apis.AnnotationPaused, s.What))))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { //nolint:contextcheck // a clean-up has a context of its own
			Expect(hub.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(annotationPatch(apis.AnnotationPaused, ""))))).To(Succeed())
		})
	default:
		Fail("the fleet cannot do this step: " + s.String())
	}
}

// application returns the Application that a script creates.
func (r *conformance) application(words []string) *argocd.Application {
	b := fixture.Application(r.name).Cluster(fleetClusters[words[0]]).Spec(spec("guestbook", r.name))
	if slices.Contains(words, "cascade") {
		b.Finalizers(apis.FinalizerResources)
	}
	if slices.Contains(words, "old-first") {
		b.Annotation(apis.AnnotationMoveOrder, apis.MoveOldFirst)
	}
	app := b.Obj()
	app.UID = ""
	return app
}

// observe returns the visible state of the fleet as a line. The observer keeps its numbers for UIDs only if the line is
// the expected line.
func (r *conformance) observe(ctx context.Context, want string) (string, error) {
	seen, err := r.seen(ctx)
	if err != nil {
		return "", err
	}
	met := *r.observer
	line := met.Line(seen)
	if line == want {
		*r.observer = met
	}
	return line, nil
}

func (r *conformance) seen(ctx context.Context) (s simulation.Seen, err error) {
	app, err := read(hub, named(r.name))(ctx)
	if err != nil {
		return s, err
	}
	if app != nil {
		s.Hub, s.Deleting = true, app.DeletionTimestamp != nil
		for _, c := range app.Status.Conditions {
			if delivery.Shown(c.Type) {
				s.Conditions = append(s.Conditions, c.Type)
			}
		}
	}
	for _, name := range []string{"c1", "c2"} {
		there, err := r.seenOn(ctx, name)
		if err != nil {
			return s, err
		}
		s.Clusters = append(s.Clusters, there)
	}
	return s, nil
}

// seenOn returns the visible state of a cluster and of its works.
func (r *conformance) seenOn(ctx context.Context, name string) (simulation.SeenThere, error) {
	on := fleetClusters[name]
	there := simulation.SeenThere{Name: name}
	list := &workv1.ManifestWorkList{}
	if err := hub.List(ctx, list, client.InNamespace(on)); err != nil {
		return there, err
	}
	for i := range list.Items {
		if owner, ok := work.HubApplication(&list.Items[i]); ok && owner.Name == r.name {
			there.Work, there.Applied = true, work.Outcome(&list.Items[i]) == "True"
		}
	}
	app, err := read(cluster[on], named(r.name))(ctx)
	if err != nil {
		return there, err
	}
	if app != nil {
		there.Application, there.Managed = string(app.UID), len(app.OwnerReferences) > 0
	}
	deployed, err := read(cluster[on], guestbookOf(r.name))(ctx)
	if err == nil && deployed != nil {
		there.Workload = string(deployed.UID)
	}
	return there, err
}

// end removes all objects of a script.
func (r *conformance) end(ctx SpecContext) {
	Expect(client.IgnoreNotFound(hub.Delete(ctx, named(r.name)))).To(Succeed())
	Eventually(ctx, read(hub, named(r.name))).Should(BeNil())
	for _, on := range []string{"cluster1", "cluster2"} {
		there := named(r.name)
		Expect(client.IgnoreNotFound(cluster[on].Delete(ctx, there))).To(Succeed())
		Expect(client.IgnoreNotFound(cluster[on].Delete(ctx, guestbookOf(r.name)))).To(Succeed())
	}
}
