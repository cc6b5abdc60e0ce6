package reading

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FlagManagedResources is the option of the agents to send managed resources.
const FlagManagedResources = "--argocd-managed-resources"

// FlagSource is the option of the agents to serve repositories of the hub.
const FlagSource = "--source-bind-address"

// Manifests returns the manifests of an AddOnTemplate. The error is about a value that is not a list.
func Manifests(template *unstructured.Unstructured) ([]any, error) {
	manifests, _, err := unstructured.NestedSlice(template.Object, "spec", "agentSpec", "workload", "manifests")
	return manifests, err
}

// Containers returns the containers of all Deployments in manifests.
func Containers(manifests []any) (out []map[string]any) {
	for _, m := range manifests {
		manifest, _ := m.(map[string]any)
		containers, _, _ := unstructured.NestedSlice(manifest, "spec", "template", "spec", "containers")
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				out = append(out, container)
			}
		}
	}
	return out
}

// Argument returns the value of a flag in the arguments of a container, and whether the flag is set.
func Argument(args []string, flag string) (value string, is bool) {
	for _, arg := range args {
		if value, is = strings.CutPrefix(arg, flag+"="); is {
			return value, true
		}
	}
	return "", false
}

// Has reports whether a container has a flag with a value.
func Has(container map[string]any, flag string) bool {
	args, _, _ := unstructured.NestedStringSlice(container, "args")
	_, is := Argument(args, flag)
	return is
}
