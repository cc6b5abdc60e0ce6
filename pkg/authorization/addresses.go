package authorization

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// repositories returns the addresses of repositories in a JSON document: every text under a key with the ending "repoURL"
// or "repoURLs", at any depth and in any case. A newer Argo CD may take a source from a field unknown to Towline.
// repositories skips the values of a Helm chart, because Argo CD (2.14 to 3.5) hands the values to Helm unchanged.
func repositories(document []byte) ([]string, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // a document may have numbers too large for any Go type
	err := decoder.Decode(&value)
	return addresses("", value, false), err
}

// addresses returns the addresses in a value. The parameter key is the key of the value, or of the list around the value.
// If all is true, every text is an address.
func addresses(key string, value any, all bool) (found []string) {
	lower := strings.ToLower(key)
	all = all || strings.HasSuffix(lower, "repourl") || strings.HasSuffix(lower, "repourls")
	switch value := value.(type) {
	case string:
		if all {
			found = append(found, value)
		}
	case []any:
		for _, each := range value {
			found = append(found, addresses(key, each, all)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(value)) {
			if key != "helm" || k != "valuesObject" {
				found = append(found, addresses(k, value[k], all)...)
			}
		}
	}
	return found
}
