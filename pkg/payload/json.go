package payload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Marshal is json.Marshal without the escaping of <, > and &. Escaping would change the bytes of an unchanged field.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// Same reports whether two JSON texts have the same content. Most texts are equal to the byte, because both passed
// through the API server's encoder. In the text of another writer, the order of keys and the escaping may differ.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && equality.Semantic.DeepEqual(x, y)
}

// Digest returns a hash of the content of a manifest, because an API server returns the same content with other
// bytes. The hash is empty for an unreadable manifest.
func Digest(raw []byte) string {
	value, err := decode(raw)
	if err != nil {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// decode keeps numbers as text: two different large integers could become the same float.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out any
	err := dec.Decode(&out)
	return out, err
}

// object decodes one level of a JSON object. An empty input gives an empty object.
func object(raw []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return fields, nil
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if fields == nil { // the JSON was null
		fields = map[string]json.RawMessage{}
	}
	return fields, nil
}

// jsonOf returns the JSON of an object with the given fields, sorted by key. Marshal would check and copy each field
// again for each enclosing object.
func jsonOf(fields map[string]json.RawMessage) json.RawMessage {
	to := []byte{'{'}
	keys := slices.AppendSeq(make([]string, 0, len(fields)), maps.Keys(fields))
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(append(append(to, quoted(key)...), ':'), fields[key]...)
	}
	return append(to, '}')
}

// compact is jsonOf without white space.
func compact(fields map[string]json.RawMessage) ([]byte, error) {
	var out bytes.Buffer
	err := json.Compact(&out, jsonOf(fields))
	return out.Bytes(), err
}

// listOf returns the JSON of a list with the given elements.
func listOf(elements []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// quoted returns a text in JSON.
func quoted(s string) json.RawMessage {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return json.RawMessage(`"` + s + `"`)
	}
	out, err := Marshal(s)
	if err != nil {
		panic(err) // every string can be encoded
	}
	return out
}

// setText sets a field of a JSON object, or removes the field for an empty text.
func setText(fields map[string]json.RawMessage, key, text string) {
	delete(fields, key)
	if text != "" {
		fields[key] = quoted(text)
	}
}

// setObject sets a field of a JSON object, or removes the field for an empty object.
func setObject(fields map[string]json.RawMessage, key string, value map[string]json.RawMessage) {
	delete(fields, key)
	if len(value) > 0 {
		fields[key] = jsonOf(value)
	}
}
