package authorization

// Matches reports whether a pattern of an AppProject matches a value. A pattern with a leading "!" matches all values
// except the forbidden values.
func Matches(pattern, value string) bool { return matches(pattern, value) }

// Denies reports whether a pattern of an AppProject is a "!" pattern.
func Denies(pattern string) bool { return denies(pattern) }
