package authorization

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// scpLike are addresses as `git clone user@host:path` takes them.
var scpLike = regexp.MustCompile(`^(ssh://)?([^/:]*?)@[^@]+$`)

// normalized is a repository's address in the one spelling that Argo CD compares; empty when it is no address.
func normalized(repo string) string {
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

// maxShown is how many bytes of a tenant's text a message repeats.
const maxShown = 200

// schemes are those of repositories. A word in front of "://" that is none of them may be part of a password.
var schemes = []string{"http", "https", "ssh", "git", "oci", "file"}

// shown is a repository's address for people, without what may be a name, a password or a token: all in front of the last
// "@", and a query. Of an address that can be read in two ways, or in none, only the scheme is left.
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
	if strings.Contains(rest[:at+1], "/") { // the "@" is one of a path, or the "/" one of a password
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
