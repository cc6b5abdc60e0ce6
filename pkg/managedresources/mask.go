package managedresources

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// masked is Argo CD's text in place of a value of a Secret. For a further value of the same key, Argo CD adds step, so
	// that a difference remains visible.
	masked = "++++++++"
	step   = "++++"

	// maxMask is the maximum length of a mask from Argo CD. A value has at most four texts, in four manifests.
	maxMask = 32

	// maxSecret is the maximum size of the manifests of a Secret, and maxKeys the maximum number of keys. Kubernetes
	// permits a Secret of 1 MiB.
	maxSecret = 8 << 20
	maxKeys   = 5000
)

// mask hides the data of a Secret in all manifests, like HideSecretData of Argo CD. Values that Argo CD has hidden stay.
func (r *resource) mask() error {
	known := masks{}
	manifests := map[*string]map[string]any{}
	size := 0
	for _, state := range r.states() {
		if size += len(*state); size > maxSecret {
			return ErrTooLarge
		}
		if absent(*state) {
			continue
		}
		var manifest map[string]any
		if err := unmarshal(*state, &manifest); err != nil {
			return err
		}
		manifests[state] = manifest
		if known.note(manifest); len(known) > maxKeys {
			return ErrTooLarge
		}
	}
	for state, manifest := range manifests {
		known.hide(manifest)
		data, err := json.Marshal(manifest)
		if err != nil {
			return err
		}
		*state = string(data)
	}
	return nil
}

// unmarshal reads JSON, and keeps the digits of numbers.
func unmarshal(text string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// masks are the replacements of the values of a Secret, by key and value.
type masks map[string]map[string]string

// dataFields are the fields of a Secret with values.
var dataFields = []string{"data", "stringData"}

// note chooses replacements for the values of a manifest.
func (m masks) note(manifest map[string]any) {
	eachValue(manifest, func(key, value string) any {
		if m[key] == nil {
			m[key] = map[string]string{}
		}
		if _, ok := m[key][value]; !ok {
			m[key][value] = m.next(key, value)
		}
		return value
	})
	if _, last := lastApplied(manifest); last != nil {
		m.note(last)
	}
}

// next returns the replacement of a further value.
func (m masks) next(key, value string) string {
	if len(value) >= len(masked) && len(value) <= maxMask && strings.Trim(value, "+") == "" {
		return value
	}
	longest := ""
	for _, known := range m[key] {
		if len(known) > len(longest) {
			longest = known
		}
	}
	if longest == "" {
		return masked
	}
	return longest + step
}

// hide replaces the values of a manifest.
func (m masks) hide(manifest map[string]any) {
	eachValue(manifest, func(key, value string) any { return m[key][value] })
	annotations, last := lastApplied(manifest)
	switch {
	case annotations == nil:
	case last == nil:
		annotations[corev1.LastAppliedConfigAnnotation] = masked
	default:
		m.hide(last)
		data, err := json.Marshal(last)
		if err != nil {
			data = []byte(masked)
		}
		annotations[corev1.LastAppliedConfigAnnotation] = string(data)
	}
}

// eachValue replaces each value of a Secret. Data in a wrong form goes.
func eachValue(manifest map[string]any, replace func(key, value string) any) {
	for _, field := range dataFields {
		values, ok := manifest[field].(map[string]any)
		if !ok {
			delete(manifest, field)
			continue
		}
		for key, value := range values {
			if value != nil {
				values[key] = replace(key, fmt.Sprint(value))
			}
		}
	}
}

// lastApplied returns the annotations with the text of kubectl's last apply, and the manifest in the text. The
// annotations are nil without the text, and the manifest is nil for an invalid text.
func lastApplied(manifest map[string]any) (annotations, last map[string]any) {
	metadata, _ := manifest["metadata"].(map[string]any)
	annotations, _ = metadata["annotations"].(map[string]any)
	text, ok := annotations[corev1.LastAppliedConfigAnnotation]
	if !ok {
		return nil, nil
	}
	if written, ok := text.(string); !ok || unmarshal(written, &last) != nil {
		return annotations, nil
	}
	return annotations, last
}
