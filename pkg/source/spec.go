package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Sources returns all sources in a spec, or in the sync of an operation: source and sources. Argo CD ignores source
// beside sources, but a different version might not. The result is empty for unreadable JSON.
func Sources(raw []byte) []argocd.Source {
	var spec struct {
		Source  *argocd.Source  `json:"source"`
		Sources []argocd.Source `json:"sources"`
	}
	if json.Unmarshal(raw, &spec) != nil {
		return nil
	}
	if spec.Source != nil {
		return append(spec.Sources, *spec.Source)
	}
	return spec.Sources
}

// Addresses returns the addresses of the repositories in a spec, each once.
func Addresses(raw []byte) []string {
	var out []string
	for _, s := range Sources(raw) {
		if s.RepoURL != "" && !slices.Contains(out, s.RepoURL) {
			out = append(out, s.RepoURL)
		}
	}
	return out
}

// fullReference matches a full reference that git accepts, in the characters of usual servers.
var fullReference = regexp.MustCompile(`^refs/[A-Za-z0-9_][A-Za-z0-9._/-]{0,200}$`)

// Reference returns a targetRevision that is a full reference other than a branch or a tag, for example
// "refs/pull/7/head"; otherwise an empty text.
func Reference(targetRevision string) string {
	switch {
	case !fullReference.MatchString(targetRevision), strings.Contains(targetRevision, ".."), strings.Contains(targetRevision, "//"):
		return ""
	case strings.HasPrefix(targetRevision, "refs/heads/"), strings.HasPrefix(targetRevision, "refs/tags/"):
		return ""
	}
	return targetRevision
}

// Unsupported returns why the sources of a spec cannot come through the hub, with the remedy; empty for supported
// sources.
func Unsupported(raw []byte) string {
	if argocd.Hydrates(raw) {
		return "spec.sourceHydrator pushes to Git, and the hub serves repositories read-only: use spec.source"
	}
	for _, s := range Sources(raw) {
		if why := unsupported(s); why != "" {
			return why
		}
	}
	return ""
}

func unsupported(s argocd.Source) string {
	switch {
	case s.Chart != "":
		return fmt.Sprintf("the chart %.60q of a Helm repository does not come through the hub: put the chart into Git", s.Chart)
	case strings.HasPrefix(strings.ToLower(s.RepoURL), "oci://"):
		return "a source of an OCI registry does not come through the hub: put the manifests into Git"
	}
	if u, err := url.Parse(s.RepoURL); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return "repoURL has a password, and the hub keeps passwords for itself: put the password into a repository Secret of Argo CD on the hub"
		}
	}
	return ""
}

// Through replaces the address of each source in the fields of a spec, or of the sync of an operation, with the address
// at a cluster's agent. All other fields keep their bytes. An error names the field with the wrong shape.
func Through(agent string, fields map[string]json.RawMessage) error {
	if raw, ok := fields["source"]; ok && !isNull(raw) {
		out, err := replace(agent, raw)
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
		out, err := replace(agent, sources[i])
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

// replace returns a source with the address at the agent. A source without an address stays unchanged.
func replace(agent string, raw json.RawMessage) (json.RawMessage, error) {
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
	fields["repoURL"], _ = json.Marshal(At(agent, repo)) //nolint:errchkjson // a text has a JSON form
	return json.Marshal(fields)
}

// At returns the address of a repository at a cluster's agent.
func At(agent, repo string) string { return strings.TrimRight(agent, "/") + "/" + Name(repo) }
