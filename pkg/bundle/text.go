package bundle

import (
	"regexp"
)

// Redacted stands for what was taken out.
const Redacted = "REDACTED"

// texts are what credentials look like in a text, each with what stays of it. The order counts: a block before what is in it.
var texts = []struct {
	pattern *regexp.Regexp
	stays   string
}{
	// PEM: whole blocks of private keys, and one that is cut off.
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`), Redacted},
	// Blocks of YAML: all lines that are indented, and to the end of the line where the ends of lines are escaped.
	{regexp.MustCompile(`(?i)(` + secretName + `["']?[ \t]*:[ \t]*)[|>][-+0-9]*[ \t]*(#[^\n]*)?(\r?\n([ \t]+[^\n]*)?)+`), "${1}" + Redacted + "\n"},
	{regexp.MustCompile(`(?i)(` + secretName + `\\?["']?[ \t]*:[ \t]*)[|>][-+0-9]*[ \t]*\\n[^\n]*`), "${1}" + Redacted},
	// A header with any scheme: all of its line.
	{regexp.MustCompile(`(?i)(authorization\\?["']?[ \t]*[:=])[^\r\n]+`), "${1} " + Redacted},
	// Flags: all up to a blank, be there commas in it.
	{regexp.MustCompile(`(?i)(--` + secretName + `=)(\\?"(\\.|[^"\\])*\\?"|'[^']*'|[^\s"']+)`), "${1}" + Redacted},
	// JSON Web Tokens, and tokens that say what they are.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`), Redacted},
	{regexp.MustCompile(`\b(gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hvs\.|sha256~)[A-Za-z0-9_\-.]{8,}`), Redacted},
	{regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}`), Redacted},
	// What is before the host of an address, up to the last @ before its path: a password may have one in it.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#]*@`), "${1}" + Redacted + "@"},
	// The same where a slash in the password is not escaped.
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*):[^\s@]*@`), "${1}:" + Redacted + "@"},
	// The same without a scheme, also where it is the tag of an image before a digest.
	{regexp.MustCompile(`([A-Za-z0-9._%+-]*):[^\s/"'@][^\s/"']*@([A-Za-z0-9\[])`), "${1}:" + Redacted + "@${2}"},
	// Headers.
	{regexp.MustCompile(`(?i)\b(bearer|basic)(["']?[\s:=]+["']?)[A-Za-z0-9+/=_.~-]{6,}`), "${1}${2}" + Redacted},
	// Names that say so, with what follows: password=x, "token": "x", --client-secret x.
	{regexp.MustCompile(`(?i)(` + secretName + `\\?["']?\s*[:=]\s*)(\\?"(\\.|[^"\\])*\\?"|'[^']*'|` + bare + `([,;]` + bare + `)*)`),
		"${1}" + Redacted},
	{regexp.MustCompile(`(?i)(--[a-z0-9-]*` + secretWords + `[a-z0-9-]*\s+)[^\s-][^\s]*`), "${1}" + Redacted},
}

const (
	// secretWords are in names of what is secret.
	secretWords = `(?:passw(?:or)?d|passphrase|pwd|token|secret|credential|(?:api|access|private)[-_]?key|authorization)` //nolint:gosec // words

	// secretName is such a name in a text. "pass" is one at the end of a name only: many words begin with it.
	secretName = `[A-Za-z0-9_.-]*(?:` + secretWords + `[A-Za-z0-9_]*|pass)`

	// bare is a part of a value without quotes.
	bare = `[^\s,;&"'}\])]+`
)

// Text is a text without credentials.
func Text(s string) string {
	for _, t := range texts {
		s = t.pattern.ReplaceAllString(s, t.stays)
	}
	return s
}
