package why

import "strings"

// word is a name as a shell takes it for one word of a command. People paste the commands, and annotations, projects and conditions are
// written by whoever writes Applications: what is no plain name must not be a command of its own.
func word(name string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._/", r)
	}
	if name != "" && name[0] == '-' || strings.ContainsFunc(name, odd) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
