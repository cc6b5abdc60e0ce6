package authorization

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gobwas/glob/syntax"
	"github.com/gobwas/glob/syntax/ast"
)

// errIncomplete is the error for a glob that only Argo CD before 3.6 reads.
var errIncomplete = errors.New("an opening brace has no closing brace, or a backslash is the last character")

// expression returns the regular expression for a glob as in Argo CD 3.6, which has gobwas/glob 1.0.0. A program cannot
// have two versions of the library. The grammar is equal in both versions, but the former version has errors: the glob
// "a*a" matches "a".
func expression(pattern string, separators ...rune) (*regexp.Regexp, error) {
	root, err := syntax.Parse(pattern + "?")
	if err != nil {
		return nil, err
	}
	last := len(root.Children) - 1
	if root.Children[last].Kind != ast.KindSingle {
		return nil, errIncomplete
	}
	root.Children = root.Children[:last]
	single := "."
	if len(separators) > 0 {
		single = class(true, characters(string(separators)))
	}
	return regexp.Compile("(?s)^" + translate(root, single) + "$")
}

// translate returns the regular expression for a node of a glob. single is the expression for a question mark.
func translate(n *ast.Node, single string) string {
	parts := make([]string, len(n.Children))
	for i, child := range n.Children {
		parts[i] = translate(child, single)
	}
	switch v := n.Value.(type) {
	case ast.Text:
		return regexp.QuoteMeta(v.Text)
	case ast.List:
		return class(v.Not, characters(v.Chars))
	case ast.Range:
		return class(v.Not, characters(string(v.Lo))+"-"+characters(string(v.Hi)))
	}
	switch n.Kind {
	case ast.KindAny:
		return single + "*"
	case ast.KindSuper:
		return ".*"
	case ast.KindSingle:
		return single
	case ast.KindAnyOf:
		return "(?:" + strings.Join(parts, "|") + ")"
	}
	return strings.Join(parts, "")
}

// characters returns the characters of a text for a character class of a regular expression.
func characters(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\x{%x}`, r)
	}
	return b.String()
}

// class returns a character class of a regular expression.
func class(not bool, characters string) string {
	if not {
		return "[^" + characters + "]"
	}
	return "[" + characters + "]"
}
