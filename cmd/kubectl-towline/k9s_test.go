package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"
)

// k9sPlugin is a plugin in the format of k9s, with the fields in use. k9s requires the first four fields.
type k9sPlugin struct {
	ShortCut    string   `json:"shortCut"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes"`
	Command     string   `json:"command"`
	Args        []string `json:"args"`
	Confirm     bool     `json:"confirm"`
	Dangerous   bool     `json:"dangerous"`
}

// k9sValues stand for the variables of k9s. k9s refuses an unknown variable.
var k9sValues = map[string]string{"$CONTEXT": "prod; touch x", "$NAMESPACE": "argocd", "$NAME": "guestbook", k9sKubeconfig: "KUBECONFIG=/a b:/c"}

// k9sKubeconfig is the word of a script that passes on the kubeconfig of k9s.
const k9sKubeconfig = "KUBECONFIG=$KUBECONFIG"

// readers are the commands that change no object on the hub.
var readers = []string{"why", "tree", "events", "status", "clusters"}

func readK9sPlugins(t *testing.T) map[string]k9sPlugin {
	t.Helper()
	data, err := os.ReadFile("../../example/k9s/plugins.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Plugins map[string]k9sPlugin `json:"plugins"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Plugins) < 10 {
		t.Fatalf("only %d plugins", len(file.Plugins))
	}
	return file.Plugins
}

// TestK9sPlugins: kubectl towline has each command of example/k9s/plugins.yaml, and parses the flags and the arguments.
// A writing command asks first, and each shortcut is unique in its scope.
func TestK9sPlugins(t *testing.T) {
	commands, shortcuts := map[string]bool{}, map[string]string{}
	for name, p := range readK9sPlugins(t) {
		if p.Description == "" || p.Command != "sh" || len(p.Args) < 4 || len(p.Scopes) == 0 {
			t.Fatalf("%s lacks a field: %+v", name, p)
		}
		// k9s itself uses Shift with A, J, N, O, P and S.
		if !regexp.MustCompile(`^Shift-[B-IK-MQRT-Z]$`).MatchString(p.ShortCut) {
			t.Errorf("%s: the shortcut %s", name, p.ShortCut)
		}
		for _, scope := range p.Scopes {
			if other := shortcuts[scope+p.ShortCut]; other != "" {
				t.Errorf("%s and %s have the shortcut %s for %s", name, other, p.ShortCut, scope)
			}
			shortcuts[scope+p.ShortCut] = name
		}
		words := k9sWords(t, p)
		cmd, rest, err := newCommand(genericiooptions.IOStreams{}).Find(words)
		if err != nil || !cmd.HasParent() {
			t.Errorf("%s: no command %v: %v", name, words, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v: %v", name, words, err)
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v: %v", name, words, err)
		}
		if got := cmd.Flag("context"); got == nil || got.Value.String() != k9sValues["$CONTEXT"] {
			t.Errorf("%s does not use the context of the screen", name)
		}
		commands[cmd.Name()] = true
		if writes := !slices.Contains(readers, cmd.Name()); p.Confirm != writes || p.Dangerous != writes {
			t.Errorf("%s: writes %t, confirm %t, dangerous %t", name, writes, p.Confirm, p.Dangerous)
		}
	}
	for _, want := range append([]string{"sync", "refresh", "stop", "pause", "resume"}, readers...) {
		if !commands[want] {
			t.Errorf("no plugin runs kubectl towline %s", want)
		}
	}
}

// k9sWords runs the script of a plugin with values for the variables, and returns the arguments after `kubectl towline`. A
// value with a semicolon stays a single argument.
func k9sWords(t *testing.T, p k9sPlugin) []string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{
		"kubectl": `printf '%s\n' "$KUBECONFIG" "$@"`, "env": `exec /usr/bin/env "$@"`, "less": `while read -r line; do printf '%s\n' "$line"; done`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	args := slices.Clone(p.Args)
	for i, arg := range args {
		if value, known := k9sValues[arg]; known {
			args[i] = value
		} else if regexp.MustCompile(`\$!?\w`).MatchString(arg) {
			t.Errorf("an unknown variable, or a variable inside a text: %s", arg)
		}
	}
	run := exec.CommandContext(t.Context(), "/bin/sh", args...)
	run.Dir, run.Env = dir, []string{"PATH=" + dir}
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if "KUBECONFIG="+words[0] != k9sValues[k9sKubeconfig] || words[1] != "towline" {
		t.Errorf("not kubectl towline with the kubeconfig of k9s: %v", words)
	}
	return words[2:]
}
