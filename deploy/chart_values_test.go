package deploy_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// unchanged are the values with the default also in testdata/values.yaml, each with the reason.
var unchanged = map[string]string{
	"metrics.enabled": "the other values of metrics say more",
	"rbac.create":     "without it there would be no rights to compare",
}

// TestChartValues: the golden file shows the effects of all values of the chart. The golden file has the objects
// different from the objects of the default values.
func TestChartValues(t *testing.T) {
	defaults, values := readValues(t, "chart/values.yaml"), readValues(t, "testdata/values.yaml")
	for _, path := range slices.Sorted(maps.Keys(defaults)) {
		if _, excused := unchanged[path]; !excused && reflect.DeepEqual(defaults[path], values[path]) {
			t.Errorf("testdata/values.yaml does not set %s: give it a value, so that the golden file shows what it does", path)
		}
	}
	without, err := template(t, helms[0], namespace, placeholder...)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range helms {
		out, err := template(t, version, namespace, "--values=testdata/values.yaml")
		if err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		compareGolden(t, "testdata/values.golden.yaml", difference(t, objects(t, without), objects(t, out)))
	}
}

// readValues returns the leaves of a file of values, by path.
func readValues(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := sigsyaml.UnmarshalStrict(data, &values); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	leaves := map[string]any{}
	flatten("", values, leaves)
	return leaves
}

func flatten(path string, value any, leaves map[string]any) {
	m, is := value.(map[string]any)
	if !is || len(m) == 0 {
		leaves[strings.TrimPrefix(path, ".")] = value
		return
	}
	for key, v := range m {
		flatten(path+"."+key, v, leaves)
	}
}

// difference returns the new and the changed objects as YAML, after the names of the removed objects.
func difference(t *testing.T, before, after map[string]map[string]any) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if after[key] == nil {
			fmt.Fprintln(out, "# gone:", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if cmp.Equal(before[key], after[key]) {
			continue
		}
		data, err := sigsyaml.Marshal(after[key])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "---\n%s", data)
	}
	return out.Bytes()
}

func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what is rendered; go test ./deploy -run %s -update writes it anew (-want +got):\n%s", file, t.Name(), diff)
	}
}

// TestChartMemory: Go's memory limit (GOMEMLIMIT) follows the memory limit of the container.
func TestChartMemory(t *testing.T) {
	for limit, want := range map[string]string{"1Gi": "900MiB", "2Gi": "1800MiB", "512Mi": "450MiB"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			out, err := template(t, helms[0], namespace, append(slices.Clone(placeholder), "--set=memory.limit="+limit)...)
			if err != nil {
				t.Fatal(err)
			}
			d := deploymentIn(t, out)
			if got := d.Spec.Template.Spec.Containers[0].Env[0].Value; got != want {
				t.Errorf("GOMEMLIMIT is %s, want %s", got, want)
			}
		})
	}
}

// TestChartArguments: Towline accepts the arguments rendered by the chart. In the test, Towline may only complain about
// files of the pod, because the test has no such files.
func TestChartArguments(t *testing.T) {
	for name, values := range map[string]string{"each value": "testdata/values.yaml", "none": "chart/values.yaml"} {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, helms[0], namespace, append(slices.Clone(placeholder), "--values="+values)...)
			if err != nil {
				t.Fatal(err)
			}
			args := deploymentIn(t, out).Spec.Template.Spec.Containers[0].Args
			said, _ := exec.CommandContext(t.Context(), "go", append([]string{"run", "../cmd/towline", "--kubeconfig=none"}, args...)...).CombinedOutput()
			for line := range strings.Lines(string(said)) {
				if !strings.Contains(line, "no such file or directory") && !strings.Contains(line, "exit status") {
					t.Errorf("%q", line)
				}
			}
			if len(said) == 0 {
				t.Error("it says nothing")
			}
		})
	}
}

// deploymentIn returns the Deployment of the controller in a manifest.
func deploymentIn(t *testing.T, manifest []byte) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	o := &unstructured.Unstructured{Object: objects(t, manifest)["Deployment argocd/towline-controller"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
		t.Fatal(err)
	}
	return d
}
