package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/towline-io/towline/pkg/view"
	"github.com/towline-io/towline/pkg/why"
)

// evil is a text with terminal control characters.
const evil = "x\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\r\n\t"

// TestHostileTexts checks that text from Applications cannot control the terminal, start new lines, or make table
// lines too long. Authors of Applications can write the whole status and all annotations.
func TestHostileTexts(t *testing.T) {
	const many = 50
	long := evil + strings.Repeat("A", 1<<20)
	row := view.Row{Name: "a", Cluster: long, Sync: long, Health: long, Operation: long, Revision: long, State: why.Blocked, Reason: long, Message: long}
	for title, tc := range map[string]struct {
		lines int
		print func(*options) error
	}{
		"a diagnosis": {5, func(o *options) error {
			return o.printDiagnosis(&why.Diagnosis{Application: "argocd/a", Cluster: long, Unread: []string{long}, Links: []why.Link{
				{Name: why.LinkKeys, State: why.Blocked, Message: long},
			}}, time.Now())
		}},
		"a table": {many + 1, func(o *options) error {
			rows := make([]view.Row, many)
			for i := range rows {
				rows[i] = view.Row{Name: "b"}
			}
			rows[7] = row
			p := &printer{to: o.Out}
			o.rowTable(rows, false).write(p, 0)
			return p.err
		}},
		"a line for each change": {2, func(o *options) error {
			p := &printer{to: o.Out}
			s := &screen{o: &statusOptions{options: o}, last: map[string]string{}}
			s.append(p, &view.Set{Rows: []view.Row{row}})
			return p.err
		}},
		"a tree": {1, func(o *options) error {
			p := &printer{to: o.Out}
			(&treeOptions{options: o}).print(p, &view.Node{Kind: "Service", Name: long, Cluster: long, Status: long, Message: long}, "", "", "")
			return p.err
		}},
	} {
		for _, output := range []string{"table", "wide"} {
			t.Run(title+", "+output, func(t *testing.T) {
				var out bytes.Buffer
				o := newOptions(genericiooptions.IOStreams{Out: &out})
				o.output = output
				if err := tc.print(o); err != nil {
					t.Fatal(err)
				}
				text := out.String()
				if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("%q", text[i:min(i+20, len(text))])
				}
				for line := range strings.Lines(text) {
					if len(line) > 32<<10 {
						t.Errorf("a line has %d bytes", len(line))
					}
				}
				if n := strings.Count(text, "\n"); n > tc.lines+2 {
					t.Errorf("%d lines", n)
				}
			})
		}
	}

	var out bytes.Buffer
	if exitCode(errors.New("no cluster "+evil), &out); strings.ContainsAny(out.String(), "\x1b\a\r\u202e\u009b") {
		t.Errorf("%q", out.String())
	}
}
