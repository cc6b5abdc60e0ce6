package authorization

import (
	"bytes"
	"encoding/json"
	"strings"
)

// repositories are the addresses of repositories in a JSON document, in its order: every text under a key that ends in
// "repoURL" or "repoURLs", at any depth and in any case. A newer Argo CD may take a source from a field that is not known here. The
// values of a Helm chart are left out: Argo CD (2.14 to 3.5) hands them to Helm as they are.
func repositories(document []byte) ([]string, error) {
	w := walker{Decoder: json.NewDecoder(bytes.NewReader(document))}
	err := w.value("", false)
	return w.found, err
}

// walker goes through a document that is known to be JSON, of a bounded depth.
type walker struct {
	*json.Decoder
	found []string
}

// value goes through the next value, which has that key, or is in a list that has it. Within an address every text
// counts.
func (w *walker) value(key string, address bool) error {
	token, err := w.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		for err == nil && w.More() {
			if token == '[' {
				err = w.value(key, address)
			} else {
				err = w.field(key, address)
			}
		}
		if err == nil {
			_, err = w.Token()
		}
	case string:
		if address {
			w.found = append(w.found, token)
		}
	}
	return err
}

// field goes through the next field of an object with that key.
func (w *walker) field(object string, address bool) error {
	token, err := w.Token()
	if err != nil {
		return err
	}
	key, _ := token.(string)
	if object == "helm" && key == "valuesObject" {
		return w.Decode(&json.RawMessage{})
	}
	lower := strings.ToLower(key)
	return w.value(key, address || strings.HasSuffix(lower, "repourl") || strings.HasSuffix(lower, "repourls"))
}
