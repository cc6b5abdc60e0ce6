package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// At returns the address of a repository at a cluster's agent, for the Applications of an AppProject.
func At(agent, project, repo string) string { return below(agent) + Name(project, repo) }

// IsBelow reports whether an address is below the address of a cluster's agent.
func IsBelow(agent, address string) bool { return strings.HasPrefix(address, below(agent)) }

func below(agent string) string { return strings.TrimRight(agent, "/") + "/" }

// Through replaces the address of each source in the fields of a spec, or of the sync of an operation, with the address
// at a cluster's agent for the AppProject of the Application. All other fields keep their bytes. An error names the field
// with the wrong shape.
func Through(agent, project string, fields map[string]json.RawMessage) error {
	return rewrite(fields, func(repo string) string { return At(agent, project, repo) })
}

// Back is the reverse of Through, for sources of known repositories. All other sources stay unchanged.
func (k Known) Back(fields map[string]json.RawMessage) error { return rewrite(fields, k.Own) }

// Moved returns a source with another address. All other fields stay unchanged. The source must be valid JSON.
func Moved(s argocd.Source, address string) argocd.Source {
	s.RepoURL = address
	if s.Whole != "" {
		whole, err := replace(json.RawMessage(s.Whole), func(string) string { return address })
		if err != nil {
			panic(err) // the decoder of argocd.Source has read the same text
		}
		s.Whole = string(whole)
	}
	return s
}

// rewrite replaces the address of each source in the fields of a spec, or of the sync of an operation.
func rewrite(fields map[string]json.RawMessage, address func(string) string) error {
	if raw, ok := fields["source"]; ok && !isNull(raw) {
		out, err := replace(raw, address)
		if err != nil {
			return fmt.Errorf("source: %w", err)
		}
		fields["source"] = out
	}
	raw, ok := fields["sources"]
	if !ok || isNull(raw) {
		return nil
	}
	var sources []json.RawMessage
	if err := json.Unmarshal(raw, &sources); err != nil {
		return fmt.Errorf("sources: %w", err)
	}
	for i := range sources {
		out, err := replace(sources[i], address)
		if err != nil {
			return fmt.Errorf("sources[%d]: %w", i, err)
		}
		sources[i] = out
	}
	out, err := json.Marshal(sources)
	fields["sources"] = out
	return err
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// replace returns a source with another address. A source without an address stays unchanged.
func replace(raw json.RawMessage, address func(string) string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var repo string
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	if at, ok := fields["repoURL"]; ok {
		if err := json.Unmarshal(at, &repo); err != nil {
			return nil, fmt.Errorf("repoURL: %w", err)
		}
	}
	if repo == "" {
		return raw, nil
	}
	fields["repoURL"], _ = json.Marshal(address(repo)) //nolint:errchkjson // a text has a JSON form
	return json.Marshal(fields)
}
