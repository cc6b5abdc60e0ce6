package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Digest returns a hash of a source with all rendering options; empty for an invalid source. Empty values and the
// order of keys do not count: Argo CD omits some empty values, and does not keep the order.
func Digest(s *argocd.Source) string {
	own := *s
	own.Digest = ""
	data, err := json.Marshal(own)
	if err != nil {
		return ""
	}
	var value any
	if json.Unmarshal(data, &value) != nil {
		return ""
	}
	if data, err = json.Marshal(compact(value)); err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// compact returns a JSON value without the empty parts; nil for an empty value.
func compact(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return compactMap(v)
	case []any:
		return compactList(v)
	case string, bool, float64:
		if v == "" || v == false || v == 0.0 {
			return nil
		}
	}
	return value
}

func compactMap(in map[string]any) any {
	out := map[string]any{}
	for key, value := range in {
		if value = compact(value); value != nil {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// compactList keeps the position of an empty entry, unless all entries are empty.
func compactList(in []any) any {
	out, empty := make([]any, len(in)), true
	for i, value := range in {
		out[i] = compact(value)
		empty = empty && out[i] == nil
	}
	if empty {
		return nil
	}
	return out
}

// Stamp sets the digest of every source in a history for the report of an agent, and removes the rendering options.
// The options may contain secrets.
func Stamp(history []argocd.Deployment) {
	stamp := func(s *argocd.Source) { s.Digest, s.Whole = Digest(s), "" }
	for i := range history {
		if s := history[i].Source; s != nil {
			stamp(s)
		}
		for n := range history[i].Sources {
			stamp(&history[i].Sources[n])
		}
	}
}
