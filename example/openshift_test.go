// Package example_test keeps the variants of the example alike.
package example_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestOpenShiftVariant holds example/openshift-gitops against the plain example:
// it differs by namespace, by who creates the namespace of the app, and by the names
// and settings of Advanced Cluster Management. Nothing else may.
func TestOpenShiftVariant(t *testing.T) {
	for variant, plain := range map[string][]string{
		"hub.yaml":               glob(t, "hub/*.yaml"),
		"managed.yaml":           glob(t, "managed/*.yaml"),
		"guestbook-app-set.yaml": {"guestbook-app-set.yaml"},
	} {
		t.Run(variant, func(t *testing.T) {
			want := objects(t, plain...)
			got := objects(t, filepath.Join("openshift-gitops", variant))
			for key, object := range want {
				if got[key] != object {
					t.Errorf("%s:\nplain:\n%s\nvariant:\n%s", key, object, got[key])
				}
				delete(got, key)
			}
			delete(got, "Namespace/guestbook")
			for key := range got {
				t.Errorf("only the variant has %s", key)
			}
		})
	}
}

// sameness turns what may differ into one text.
var sameness = strings.NewReplacer(
	"openshift-gitops", "argocd",
	"acm-placement", "ocm-placement-generator",
	"  createBlankClusterSecrets: true\n", "",
)

// objects reads files and returns their objects as normalized YAML, by kind and
// name.
func objects(t *testing.T, files ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(sameness.Replace(string(data)), "\n---\n") {
			var object struct {
				Kind     string
				Metadata struct{ Name string }
			}
			var content map[string]any
			for _, into := range []any{&object, &content} {
				if err := yaml.Unmarshal([]byte(document), into); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
			}
			if content == nil {
				continue
			}
			dropNamespaceCreation(content)
			normalized, err := yaml.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			found[object.Kind+"/"+object.Metadata.Name] = string(normalized)
		}
	}
	return found
}

// dropNamespaceCreation removes the sync option CreateNamespace and the right to
// it: on OpenShift the namespace is there first, with the operator's label.
func dropNamespaceCreation(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "syncOptions")
		delete(value, "clusterResourceWhitelist")
		for _, field := range value {
			dropNamespaceCreation(field)
		}
	case []any:
		for _, item := range value {
			dropNamespaceCreation(item)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	return files
}
