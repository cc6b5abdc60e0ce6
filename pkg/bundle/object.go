package bundle

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hidden are keys below which every value is taken out, wherever they are: what users give to tools, templates and clusters.
var hidden = map[string]bool{
	// Sources of Applications.
	"helm": true, "kustomize": true, "jsonnet": true, "plugin": true, "parameters": true, "values": true, "valuesObject": true,
	"env": true, "extVars": true, "tlas": true, "info": true, "infos": true, "patches": true,
	// Generators and templates of ApplicationSets.
	"elements": true, "elementsYaml": true, "templatePatch": true, "input": true, "customHeaders": true,
	// Secrets, ConfigMaps and what has their shape, in works too.
	"data": true, "stringData": true, "binaryData": true, "immutableData": true,
	// Containers: beside env, what they run may have anything in it.
	"command": true, "lifecycle": true, "httpHeaders": true,
	// Resources of a sync, as they are.
	"normalizedLiveState": true, "predictedLiveState": true, "liveState": true, "targetState": true,
}

// dropped are keys that go with all that is below them.
var dropped = map[string]bool{"managedFields": true, "kubectl.kubernetes.io/last-applied-configuration": true}

// secretKey are keys whose value is a secret, by their name; but not those that name something. What has "key" at its end is a secret:
// in doubt, a value goes.
var (
	secretKey = regexp.MustCompile(`(?i)(` + secretWords + `|pass$)`)
	namesKey  = regexp.MustCompile(`(?i)(name|names|namespace|ref|refs|type|automountserviceaccounttoken|-file)$`)
)

// secretFlag is a flag whose value is the next argument.
var secretFlag = regexp.MustCompile(`(?i)^--?` + secretName + `$`)

// ours are the annotations that stay: those of Kubernetes' own, Open Cluster Management's and Argo CD's.
var ours = regexp.MustCompile(`^([a-z0-9.-]+\.)?(open-cluster-management\.io|argoproj\.io|kubernetes\.io)/`)

// Object is an object without what is secret. The object given stays as it is.
func Object(o map[string]any) map[string]any {
	out, _ := clean(o, "", false).(map[string]any)
	return out
}

// Dependency is a ManifestWork that carries what Applications need, of any kind. Of what it carries, the kinds and names stay alone: a
// spec of an unknown kind may have a secret anywhere.
func Dependency(o map[string]any) map[string]any {
	out := Object(o)
	manifests, _, _ := unstructured.NestedSlice(out, "spec", "workload", "manifests")
	for i := range manifests {
		manifests[i] = identity(manifests[i])
	}
	if manifests != nil {
		_ = unstructured.SetNestedSlice(out, manifests, "spec", "workload", "manifests") // it was read from there
	}
	return out
}

// identity is the kind and the name of an object.
func identity(manifest any) map[string]any {
	o, _ := manifest.(map[string]any)
	out := map[string]any{}
	for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		if text, ok, _ := unstructured.NestedString(o, path...); ok {
			_ = unstructured.SetNestedField(out, text, path...) // it makes the maps it needs
		}
	}
	return out
}

// clean is a value below a key. hide is set below one whose values are taken out.
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

// isSecret tells whether all below a key is a secret. What is empty tells nothing but that, and switches are none.
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
			out[k] = Redacted // objects in a string, one or one on each line, are not looked through
		case isSecret(key, value):
			out[k] = Redacted
		case text && looksLikeJSON(s):
			out[k] = Redacted
		case key == "name" && (parent == "plugin" || in["value"] != nil): // of a parameter or variable
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
