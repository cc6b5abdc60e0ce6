package authorization

import (
	"net/url"
	"regexp"
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

// shown is a repository's address for people: without the name and password that it may hold.
func shown(repo string) string {
	u, err := url.Parse(strings.TrimSpace(repo))
	switch {
	case err == nil && u.User != nil:
		u.User = nil
		repo = u.String()
	case err != nil && strings.Contains(repo, "@"):
		_, repo, _ = strings.Cut(repo, "@")
	}
	return cut(repo)
}

func cut(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}
