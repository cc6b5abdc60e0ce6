package simulation

import (
	"crypto/md5" //nolint:gosec // as the agent
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	workv1 "open-cluster-management.io/api/work/v1"
)

// payload is the content of an Application's manifest, field by field. marked is the same payload with a mark of the
// agent. An agent with this mark applies each text only once.
type payload struct {
	key
	version string
	fields  []fieldValue
	marked  *payload
}

type fieldValue struct{ name, value string }

func (f fieldValue) isFinalizer() bool { return strings.HasPrefix(f.name, "finalizer:") }

// mark is the annotation with the digest of the last server-side apply.
const mark = "annotation:" + workv1.ManifestConfigSpecHashAnnotationKey

// textHash returns the agent's digest of a manifest (v1.2.0, apply/server_side_apply.go): the digest of the text as
// printed by Go.
func textHash(raw []byte) string {
	var object map[string]any
	must(utiljson.Unmarshal(raw, &object))
	sum := md5.Sum(fmt.Appendf(nil, "%v", object)) //nolint:gosec // as the agent
	return hex.EncodeToString(sum[:])
}

// path returns the path of a field as in the conflict message of an API server.
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

// payloads caches parsed payloads by their JSON, because most payloads occur again in the next schedule.
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
	p.sort()
	marked := *p
	marked.fields = append(slices.Clone(p.fields), fieldValue{mark, textHash(raw)})
	marked.sort()
	p.marked = &marked
	payloads.Store(string(raw), p)
	return p, nil
}

func (p *payload) sort() {
	slices.SortFunc(p.fields, func(a, b fieldValue) int { return strings.Compare(a.name, b.name) })
}

// canonical returns JSON with sorted keys.
func canonical(raw []byte) string {
	var v any
	must(json.Unmarshal(raw, &v))
	out, err := json.Marshal(v)
	must(err)
	return string(out)
}
