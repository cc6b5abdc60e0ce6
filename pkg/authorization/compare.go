package authorization

// NormalizeURL returns the address of a repository in the spelling that Argo CD compares; empty for an invalid
// address.
func NormalizeURL(repo string) string { return normalized(repo) }

// Matches reports whether a pattern of an AppProject matches a value. A pattern with a leading "!" matches all values
// except the forbidden values.
func Matches(pattern, value string) bool { return matches(pattern, value) }

// Denies reports whether a pattern of an AppProject is a "!" pattern.
func Denies(pattern string) bool { return denies(pattern) }
