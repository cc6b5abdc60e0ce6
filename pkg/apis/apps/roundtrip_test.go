package apps_test

import (
	"os"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/apps/v1beta1"
)

// TestRoundTripKeepsEveryField decodes and encodes objects with every published field by
// the Go types, and expects equal objects.
func TestRoundTripKeepsEveryField(t *testing.T) {
	for file, into := range map[string]runtime.Object{
		"gitopscluster":                    &v1beta1.GitOpsCluster{},
		"multiclusterapplicationsetreport": &v1alpha1.MulticlusterApplicationSetReport{},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + file + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(data, into); err != nil {
				t.Fatalf("a published field is unknown to our type: %v", err)
			}
			written, err := yaml.Marshal(into.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			if want, got := parse(t, string(data)), parse(t, string(written)); !reflect.DeepEqual(want, got) {
				t.Errorf("want:\n%s\ngot:\n%s", data, written)
			}
		})
	}
}

// TestAddToScheme checks both versions in a common scheme, with the kinds of
// the CRDs.
func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"MulticlusterApplicationSetReport", "MulticlusterApplicationSetReportList"} {
		if !scheme.Recognizes(v1alpha1.GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", kind)
		}
	}
	for _, kind := range []string{"GitOpsCluster", "GitOpsClusterList"} {
		if !scheme.Recognizes(v1beta1.GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", kind)
		}
	}
}
