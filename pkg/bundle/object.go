package bundle

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hidden are keys anywhere in an object. All values below them are removed, because users write the values for tools,
// templates and clusters.
var hidden = map[string]bool{
	// Sources of Applications.
	"helm": true, "kustomize": true, "jsonnet": true, "plugin": true, "parameters": true, "values": true, "valuesObject": true,
	"env": true, "extVars": true, "tlas": true, "info": true, "infos": true, "patches": true,
	// Generators and templates of ApplicationSets.
	"elements": true, "elementsYaml": true, "templatePatch": true, "input": true, "customHeaders": true,
	// Secrets, ConfigMaps and objects of the same shape, also in works.
	"data": true, "stringData": true, "binaryData": true, "immutableData": true,
	// Containers: like env, commands may contain secrets.
	"command": true, "lifecycle": true, "httpHeaders": true,
	// Live and target states of synced resources.
	"normalizedLiveState": true, "predictedLiveState": true, "liveState": true, "targetState": true,
}

// dropped are keys removed with all values below them.
var dropped = map[string]bool{"managedFields": true, "kubectl.kubernetes.io/last-applied-configuration": true}

// secretKey matches keys with a secret value, by the name of the key. namesKey matches exceptions: keys whose value
// only names an object. A key that ends in "key" counts as secret: in case of doubt, the value goes.
var (
	secretKey = regexp.MustCompile(`(?i)(` + secretWords + `|pass$)`)
	namesKey  = regexp.MustCompile(`(?i)(name|names|namespace|ref|refs|type|automountserviceaccounttoken|-file)$`)
)

// secretFlag matches a flag whose value is the next argument.
var secretFlag = regexp.MustCompile(`(?i)^--?` + secretName + `$`)

// ours matches the annotations that stay: annotations of Kubernetes, Open Cluster Management and Argo CD.
var ours = regexp.MustCompile(`^([a-z0-9.-]+\.)?(open-cluster-management\.io|argoproj\.io|kubernetes\.io)/`)

// Object returns a copy of the object without secrets.
func Object(o map[string]any) map[string]any {
	out, _ := clean(o, "", false).(map[string]any)
	return out
}

// Dependency returns a dependency's ManifestWork without secrets. Of the manifests, only the kinds and names stay: a
// spec of an unknown kind may have a secret anywhere.
func Dependency(o map[string]any) map[string]any {
	out := Object(o)
	manifests, _, _ := unstructured.NestedSlice(out, "spec", "workload", "manifests")
	for i := range manifests {
		manifests[i] = identity(manifests[i])
	}
	if manifests != nil {
		_ = unstructured.SetNestedSlice(out, manifests, "spec", "workload", "manifests") // cannot fail: the slice comes from the same path
	}
	return out
}

// identity returns the kind and the name of an object.
func identity(manifest any) map[string]any {
	o, _ := manifest.(map[string]any)
	out := map[string]any{}
	for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		if text, ok, _ := unstructured.NestedString(o, path...); ok {
			_ = unstructured.SetNestedField(out, text, path...) // cannot fail: SetNestedField creates the missing maps
		}
	}
	return out
}

// clean returns the redacted value of a key. hide is set below a hidden key.
func clean(value any, key string, hide bool) any {
	switch v := value.(type) {
	case map[string]any:
		return cleanMap(v, key, hide)
	case []any:
		return cleanList(v, key, hide)
	case string:
		if hide {
			return Redacted
		}
		return Text(v)
	case nil, bool:
		return v
	}
	if hide {
		return Redacted
	}
	return value
}

func cleanList(in []any, key string, hide bool) []any {
	out := make([]any, len(in))
	for i := range in {
		_, text := in[i].(string)
		out[i] = clean(in[i], key, hide || key == "manifests" && text || i > 0 && isSecretFlag(in[i-1]))
	}
	return out
}

func isSecretFlag(value any) bool {
	s, _ := value.(string)
	return secretFlag.MatchString(s)
}

// isSecret reports whether all values below a key are secret. Empty values and booleans are never secret.
func isSecret(key string, value any) bool {
	_, isSwitch := value.(bool)
	return !isSwitch && value != nil && value != "" && secretKey.MatchString(key) && !namesKey.MatchString(key)
}

func cleanMap(in map[string]any, parent string, hide bool) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		if dropped[key] {
			continue
		}
		k := Text(key)
		switch s, text := value.(string); {
		case parent == "annotations" && text && (!ours.MatchString(key) || strings.ContainsAny(s, "{[") && strings.Contains(s, `"`)):
			out[k] = Redacted // the string may hold objects, one on each line or only one, and is not parsed
		case isSecret(key, value):
			out[k] = Redacted
		case text && looksLikeJSON(s):
			out[k] = Redacted
		case key == "name" && (parent == "plugin" || in["value"] != nil): // the name of a parameter or variable
			out[k] = clean(value, key, false)
		default:
			out[k] = clean(value, key, hide || hidden[key])
		}
	}
	return out
}

func looksLikeJSON(s string) bool {
	s = strings.TrimSpace(s)
	return strings.Contains(s, `"`) &&
		(strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") || strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"))
}
