package bundle

import (
	"regexp"
)

// Redacted replaces removed values.
const Redacted = "REDACTED"

// texts are the patterns of credentials in a text, with the replacement. The order counts: a block comes before its
// parts.
var texts = []struct {
	pattern *regexp.Regexp
	stays   string
}{
	// PEM: whole blocks of private keys, and a truncated block.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`), Redacted},
	// Blocks of YAML: all indented lines. With escaped line ends, the pattern matches up to the real line end.
	{regexp.MustCompile(`(?i)(` + secretName + `["']?[ \t]*:[ \t]*)[|>][-+0-9]*[ \t]*(#[^\n]*)?(\r?\n([ \t]+[^\n]*)?)+`), "${1}" + Redacted + "\n"},
	{regexp.MustCompile(`(?i)(` + secretName + `\\?["']?[ \t]*:[ \t]*)[|>][-+0-9]*[ \t]*\\n[^\n]*`), "${1}" + Redacted},
	// A header with any scheme: the whole line.
	{regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[:=])[^\r\n]+`), "${1} " + Redacted},
	// Flags: the whole value up to a blank, including commas.
	{regexp.MustCompile(`(?i)(--` + secretName + `=)(\\?"(\\.|[^"\\])*\\?"|'[^']*'|[^\s"']+)`), "${1}" + Redacted},
	// JSON Web Tokens, and tokens with a known prefix.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`), Redacted},
	{regexp.MustCompile(`\b(gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hvs\.|sha256~)[A-Za-z0-9_\-.]{8,}`), Redacted},
	{regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}`), Redacted},
	// The text before the host of an address, up to the last @ before the path: a password may contain an @.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#]*@`), "${1}" + Redacted + "@"},
	// The same pattern for a password with an unescaped slash.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*):[^\s@]*@`), "${1}:" + Redacted + "@"},
	// The same pattern without a scheme, even if the match is an image tag before a digest.
	{regexp.MustCompile(`([A-Za-z0-9._%+-]*):[^\s/"'@][^\s/"']*@([A-Za-z0-9\[])`), "${1}:" + Redacted + "@${2}"},
	// Headers.
	{regexp.MustCompile(`(?i)\b(bearer|basic)(["']?[\s:=]+["']?)[A-Za-z0-9+/=_.~-]{6,}`), "${1}${2}" + Redacted},
	// Secret names with the following value: password=x, "token": "x", --client-secret x.
	{regexp.MustCompile(`(?i)(` + secretName + `\\?["']?\s*[:=]\s*)(\\?"(\\.|[^"\\])*\\?"|'[^']*'|` + bare + `([,;]` + bare + `)*)`),
		"${1}" + Redacted},
	{regexp.MustCompile(`(?i)(--[a-z0-9-]*` + secretWords + `[a-z0-9-]*\s+)[^\s-][^\s]*`), "${1}" + Redacted},
}

const (
	// secretWords are words in the names of secrets.
	secretWords = `(?:passw(?:or)?d|passphrase|pwd|token|secret|credential|(?:api|access|private)[-_]?key|authorization)` //nolint:gosec // words

	// secretName is the name of a secret in a text. "pass" counts only at the end of a name, because many words begin
	// with "pass".
	secretName = `[A-Za-z0-9_.-]*(?:` + secretWords + `[A-Za-z0-9_]*|pass)`

	// bare is a part of an unquoted value.
	bare = `[^\s,;&"'}\])]+`
)

// Text returns the text without credentials.
func Text(s string) string {
	for _, t := range texts {
		s = t.pattern.ReplaceAllString(s, t.stays)
	}
	return s
}
