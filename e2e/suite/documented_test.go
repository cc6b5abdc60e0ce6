package suite

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/e2e/towline"
	"github.com/towline-io/towline/pkg/fixture/documented"
)

// unserved are kinds of the documentation that the hub of a fleet does not serve, each with the reason.
var unserved = map[string]string{
	"ClusterManager": "the fleet runs Open Cluster Management without its operator",
}

// wholes are complete objects for the documentation's partial objects, by the key of the part. The part is set at the
// key.
var wholes = map[string]string{
	"metadata": `{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {project: default,
		source: {repoURL: "https://git.example.com/x.git", path: x}, destination: {server: "https://kubernetes.default.svc"}}}`,
	"spec":     `{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement}`,
	"args":     pod,
	"extraEnv": pod,
}

const pod = `{apiVersion: v1, kind: Pod, spec: {containers: [{name: main, image: example}]}}`

// ofContainer are the fields of a container for the parts of a container in the documentation.
var ofContainer = map[string]string{"args": "args", "extraEnv": "env"}

// wholeOf completes a partial object of the documentation, in Argo CD's namespace.
func wholeOf(key string, part map[string]any) *unstructured.Unstructured {
	GinkgoHelper()
	u := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(wholes[key], "\t", "")), &u.Object)).To(Succeed())
	if field := ofContainer[key]; field != "" {
		containers, _, err := unstructured.NestedSlice(u.Object, "spec", "containers")
		Expect(err).NotTo(HaveOccurred())
		containers[0].(map[string]any)[field] = part[key]
		Expect(unstructured.SetNestedSlice(u.Object, containers, "spec", "containers")).To(Succeed())
	} else {
		u.Object[key] = part[key]
	}
	u.SetName("documented")
	u.SetNamespace(argocdNamespace)
	return u
}

// documentedObjects returns the objects on the documentation's pages, and the place of each object. It ignores
// kustomization files: the tests of deploy build them.
func documentedObjects() (objects []*unstructured.Unstructured, where []string) {
	GinkgoHelper()
	pages, err := documented.Pages(towline.Root(), documented.Written...)
	Expect(err).NotTo(HaveOccurred())
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, block := range documented.Blocks(page, pages[page]) {
			if block.Kind != "yaml" {
				continue
			}
			for document := range strings.SplitSeq(block.Text, "\n---\n") {
				if u := documentedObject(page, document); u != nil {
					objects = append(objects, u)
					where = append(where, fmt.Sprintf("%s %s/%s", filepath.Base(page), u.GetKind(), u.GetName()))
				}
			}
		}
	}
	return objects, where
}

// documentedObject returns the object in a YAML document, and completes a partial object. It returns nil for a
// kustomization file.
func documentedObject(page, document string) *unstructured.Unstructured {
	GinkgoHelper()
	object := map[string]any{}
	Expect(yaml.UnmarshalStrict([]byte(document), &object)).To(Succeed(), page)
	switch {
	case object["components"] != nil, object["resources"] != nil:
		return nil
	case object["kind"] != nil:
		return &unstructured.Unstructured{Object: object}
	}
	Expect(object).To(HaveLen(1), page)
	for key := range object {
		Expect(wholes).To(HaveKey(key), page)
		return wholeOf(key, object)
	}
	return nil
}

var _ = Describe("The documentation", func() {
	It("shows objects that the hub takes", func(ctx SpecContext) {
		objects, where := documentedObjects()
		Expect(len(objects)).To(BeNumerically(">=", 14))
		applied := 0
		for i, u := range objects {
			_, err := hub.RESTMapper().RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
			if reason := unserved[u.GetKind()]; reason != "" {
				Expect(meta.IsNoMatchError(err)).To(BeTrue(), "%s: %v, though %s", where[i], err, reason)
				continue
			}
			Expect(err).NotTo(HaveOccurred(), where[i])
			if ns := u.GetNamespace(); ns != "" {
				namespaceOn(ctx, hub, ns)
			}
			Expect(dryRun(ctx, u)).To(Succeed(), where[i])
			applied++
		}
		AddReportEntry(fmt.Sprintf("the hub takes %d of %d objects: %s", applied, len(objects), strings.Join(where, ", ")))
	})

	It("fails the check if the documentation shows an unknown field", func(ctx SpecContext) {
		u := wholeOf("spec", map[string]any{"spec": map[string]any{"tolerates": "all"}})
		Expect(dryRun(ctx, u)).To(MatchError(ContainSubstring("tolerates")))
	})
})

// dryRun sends an object to the hub as a dry run of an apply. The API server checks the object with all policies, and
// refuses unknown fields.
func dryRun(ctx context.Context, u *unstructured.Unstructured) error {
	return hub.Patch(ctx, u.DeepCopy(), client.Apply, client.DryRunAll, client.ForceOwnership, //nolint:staticcheck // objects of any kind
		client.FieldOwner("documentation"), client.FieldValidation("Strict"))
}
