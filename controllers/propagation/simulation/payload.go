package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// payload is what a manifest says of an Application, field by field.
type payload struct {
	key
	version string
	fields  []fieldValue
}

type fieldValue struct{ name, value string }

func (f fieldValue) isFinalizer() bool { return strings.HasPrefix(f.name, "finalizer:") }

// isHash tells whether it is the mark of what was applied by server-side apply.
func (f fieldValue) isHash() bool {
	return f.name == "annotation:"+workv1.ManifestConfigSpecHashAnnotationKey
}

// path is where an Application has it, as an API server says in a conflict.
func (f fieldValue) path() string {
	switch group, name, _ := cutField(f.name); group {
	case "annotation":
		return ".metadata.annotations." + name
	case "label":
		return ".metadata.labels." + name
	case "finalizer":
		return ".metadata.finalizers"
	case "spec":
		return ".spec." + name
	case "phase":
		return ".status.operationState.phase"
	default:
		return "." + group
	}
}

func cutField(field string) (group, name string, ok bool) { return strings.Cut(field, ":") }

func (p *payload) has(field string) bool {
	return slices.ContainsFunc(p.fields, func(f fieldValue) bool { return f.name == field })
}

func (p *payload) value(field string) string {
	for _, f := range p.fields {
		if f.name == field {
			return f.value
		}
	}
	return ""
}

// payloads are those that were read, by their JSON: most are met again in the next schedule.
var payloads sync.Map

func readPayload(raw []byte) (*payload, error) {
	if known, ok := payloads.Load(string(raw)); ok {
		return known.(*payload), nil
	}
	var m struct {
		Metadata  metav1.ObjectMeta          `json:"metadata"`
		Spec      map[string]json.RawMessage `json:"spec"`
		Operation json.RawMessage            `json:"operation"`
		Status    struct {
			OperationState struct {
				Phase string `json:"phase"`
			} `json:"operationState"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	p := &payload{key: key{Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}, version: m.Metadata.ResourceVersion}
	add := func(name, value string) { p.fields = append(p.fields, fieldValue{name, value}) }
	for k, v := range m.Metadata.Annotations {
		add("annotation:"+k, v)
	}
	sum := sha256.Sum256(raw)
	add("annotation:"+workv1.ManifestConfigSpecHashAnnotationKey, hex.EncodeToString(sum[:8]))
	for k, v := range m.Metadata.Labels {
		add("label:"+k, v)
	}
	for _, f := range m.Metadata.Finalizers {
		add("finalizer:"+f, f)
	}
	for k, v := range m.Spec {
		add("spec:"+k, canonical(v))
	}
	if len(m.Operation) > 0 {
		add("operation", string(m.Operation))
	}
	if phase := m.Status.OperationState.Phase; phase != "" {
		add("phase", phase)
	}
	slices.SortFunc(p.fields, func(a, b fieldValue) int { return strings.Compare(a.name, b.name) })
	payloads.Store(string(raw), p)
	return p, nil
}

// canonical is JSON with the keys of objects in order.
func canonical(raw []byte) string {
	var v any
	must(json.Unmarshal(raw, &v))
	out, err := json.Marshal(v)
	must(err)
	return string(out)
}
