package authorization

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// scpLike matches addresses in the form of `git clone user@host:path`.
var scpLike = regexp.MustCompile(`^(ssh://)?([^/:]*?)@[^@]+$`)

// NormalizeURL returns the address of a repository in the spelling that Argo CD compares; empty for an invalid address.
func NormalizeURL(repo string) string {
	repo = strings.ToLower(strings.TrimSpace(repo))
	if scpLike.MatchString(repo) && !strings.HasPrefix(repo, "ssh://") {
		repo = "ssh://" + strings.Replace(repo, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(repo, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.String(), "ssh://")
}

// maxShown is the maximum length of a tenant's text in a message, in bytes.
const maxShown = 200

// schemes are the schemes of repositories. An unknown word in front of "://" may be part of a password.
var schemes = []string{"http", "https", "ssh", "git", "oci", "file"}

// shown returns a repository's address for messages. It removes possible user names, passwords and tokens: all text
// before the last "@", and the query. Of an ambiguous or unreadable address, only the scheme is left.
func shown(repo string) string {
	scheme, rest, found := strings.Cut(strings.TrimSpace(repo), "://")
	if found && slices.Contains(schemes, strings.ToLower(scheme)) {
		scheme += "://"
	} else {
		scheme, rest = "", strings.TrimSpace(repo)
	}
	at, end := strings.LastIndex(rest, "@"), strings.IndexAny(rest, "?#")
	_, err := url.Parse(scheme + rest)
	switch {
	case end >= 0 && end < at, at < 0 && err != nil && scheme != "":
		return scheme + "…"
	case end >= 0:
		rest = rest[:end] + "?…"
	}
	if strings.Contains(rest[:at+1], "/") { // the "@" belongs to a path, or the "/" to a password
		scheme += "…@"
	}
	return cut(scheme + rest[at+1:])
}

func cut(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}
