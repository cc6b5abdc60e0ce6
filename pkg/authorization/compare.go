package authorization

// NormalizeURL is a repository's address in the one spelling that Argo CD compares; empty when it is no address.
func NormalizeURL(repo string) string { return normalized(repo) }

// Matches tells whether a pattern of an AppProject matches a value. One with a "!" in front matches what it does not
// forbid.
func Matches(pattern, value string) bool { return matches(pattern, value) }

// Denies tells whether a pattern of an AppProject forbids what it names.
func Denies(pattern string) bool { return denies(pattern) }
