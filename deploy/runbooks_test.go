package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const runbooks = "https://github.com/towline-io/towline/blob/main/docs/runbooks.md#"

// TestRunbooks: docs/runbooks.md has a section for each alert: the meaning, where to look, the fix, and the actions to
// avoid. kubectl towline has all commands in the sections and in the alerts.
func TestRunbooks(t *testing.T) {
	data, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(data), "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		sections[title] = text
	}
	rules := readAlerts(t)
	for _, a := range rules.alerts() {
		text, has := sections[a.Alert]
		if !has {
			t.Errorf("docs/runbooks.md has no section %s", a.Alert)
		}
		delete(sections, a.Alert)
		for _, part := range []string{"**Meaning.**", "**Look.**", "**Fix.**", "**Do not**"} {
			if strings.Count(text, "\n"+part) != 1 {
				t.Errorf("%s: the runbook has the part %s %d times", a.Alert, part, strings.Count(text, "\n"+part))
			}
		}
		if want := runbooks + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url is %q, want %q", a.Alert, a.Annotations["runbook_url"], want)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
			t.Errorf("%s lacks a summary, a description or a severity", a.Alert)
		}
		checkCommands(t, a.Alert, "`"+a.Annotations["command"]+"`", 1)
		checkCommands(t, "the runbook of "+a.Alert, text, 1)
	}
	for title := range sections {
		t.Errorf("docs/runbooks.md has the section %s, and there is no such alert", title)
	}
}

var quoted = regexp.MustCompile("`kubectl towline ([^`]+)`")

// checkCommands compares the commands of kubectl towline in a text with the generated pages of docs/cli. Fewer commands than least fail
// the test.
func checkCommands(t *testing.T, where, text string, least int) {
	t.Helper()
	found := quoted.FindAllStringSubmatch(text, -1)
	if len(found) < least {
		t.Errorf("%s has %d commands of kubectl towline, want %d", where, len(found), least)
	}
	for _, m := range found {
		words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(m[1], "{{ ", "{{"), " }}", "}}"))
		if err := checkPlugin(words); err != nil {
			t.Errorf("%s: %q: %v", where, m[1], err)
		}
	}
}
