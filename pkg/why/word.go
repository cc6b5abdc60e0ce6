package why

import "strings"

// word quotes a name as one shell word of a command. People paste the commands. Authors of Applications control
// annotations, projects and conditions. An unusual name must not become a command of its own.
func word(name string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._/", r)
	}
	if name != "" && name[0] == '-' || strings.ContainsFunc(name, odd) {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
