package source

import (
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

// OfOperation returns the addresses of the repositories in the sync of an operation, each once.
func OfOperation(raw []byte) []string { return Addresses(Sync(raw)) }

// Sync returns the sync of an operation, with the sources of the operation; nil for none.
func Sync(raw []byte) []byte {
	var operation struct {
		Sync json.RawMessage `json:"sync"`
	}
	_ = json.Unmarshal(raw, &operation) // an unreadable operation is not sent
	return operation.Sync
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

// shortForm matches the short form of the references of requests to merge on usual servers. Argo CD (3.5,
// util/git/client.go) takes "pull/7/head" for "refs/pull/7/head".
var shortForm = regexp.MustCompile(`^(pull|pull-requests|merge-requests|changes)/[0-9]`)

// Reference returns the full reference other than a branch or a tag that a targetRevision names, for example
// "refs/pull/7/head"; otherwise an empty text.
func Reference(targetRevision string) string {
	if shortForm.MatchString(targetRevision) {
		targetRevision = "refs/" + targetRevision
	}
	switch {
	case !fullReference.MatchString(targetRevision), strings.Contains(targetRevision, ".."), strings.Contains(targetRevision, "//"):
		return ""
	case strings.HasPrefix(targetRevision, "refs/heads/"), strings.HasPrefix(targetRevision, "refs/tags/"):
		return ""
	}
	return targetRevision
}

// IsCommit returns whether a targetRevision is a whole commit.
func IsCommit(targetRevision string) bool { return wholeCommit.MatchString(targetRevision) }

var wholeCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)

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
