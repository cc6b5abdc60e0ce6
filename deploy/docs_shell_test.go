package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// recorder is a script in place of a program. The script writes the arguments to a new file, reads standard input with
// "-f -", and prints a line for a loop over the output of jq or sha1sum.
const recorder = `#!/bin/bash
printf '%s\0' "${0##*/}" "$@" > "$RECORD/$$"
case " $* " in *" -f - "*) mapfile -t _;; esac
case "${0##*/}" in jq) echo "namespace name";; sha1sum) echo "0000 -";; esac
exit 0
`

// checks are the checks of the recorded arguments, by program. The programs with nil are foreign programs without a
// check: only bash parses the command.
var checks = map[string]func([]string) error{
	"helm": checkHelm, "kubectl": checkKubectl, "make": checkMake, "towline": checkTowline, "go": checkGo,
	"towline-maestro": checkTowlineMaestro,
	"argocd":          nil, "argocd-agent": nil, "clusteradm": nil, "cosign": nil, "docker": nil, "gh": nil, "git": nil, "install": nil, "jq": nil,
	"kind": nil, "operator-sdk": nil, "sha1sum": nil, "sha256sum": nil, "cut": nil,
}

// checkShell runs a block with bash and with recorders in place of all programs. checkShell then checks the recorded
// arguments, and returns the number of calls.
func checkShell(t *testing.T, b block) int {
	t.Helper()
	dir := t.TempDir()
	for program := range checks {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(recorder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	record := filepath.Join(dir, "record")
	if err := os.Mkdir(record, 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "/bin/bash", "-euo", "pipefail", "-c", b.Text)
	run.Dir = dir
	run.Env = []string{"PATH=" + dir, "RECORD=" + record}
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %v: %s", b.Page, b.Line, err, out)
		return 0
	}
	calls, err := filepath.Glob(filepath.Join(record, "*"))
	if err != nil || len(calls) == 0 {
		t.Errorf("%s:%d: a block without a command: %v", b.Page, b.Line, err)
	}
	checkKeys(t, b)
	for _, call := range calls {
		data, err := os.ReadFile(call)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
		check, how := checks[words[0]], "checked"
		if check == nil {
			how = "not run"
		} else if err := check(words[1:]); err != nil {
			t.Errorf("%s:%d: %s: %v", b.Page, b.Line, strings.Join(words, " "), err)
		}
		t.Logf("%s:%d: %s: %s", b.Page, b.Line, how, strings.Join(words, " "))
	}
	return len(calls)
}

// checkConsole checks the commands of a block with commands and output. checkConsole returns the number of calls: 0 for
// a block without commands.
func checkConsole(t *testing.T, b block) int {
	t.Helper()
	commands := b.Shell()
	if commands == "" {
		return 0
	}
	b.Text = commands
	return checkShell(t, b)
}

// checkMake returns an error if the Makefile does not have a target, or does not read a variable.
func checkMake(words []string) error {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		return err
	}
	for _, w := range words {
		name, _, variable := strings.Cut(w, "=")
		want := `(?m)^` + regexp.QuoteMeta(name) + `:`
		if variable {
			want = `\$\(` + regexp.QuoteMeta(name) + `\)`
		}
		if !regexp.MustCompile(want).Match(makefile) {
			return fmt.Errorf("the Makefile has no %s", name)
		}
	}
	return nil
}

// checkGo returns an error if the package of `go -C FOLDER run PACKAGE` is missing, or for a different command.
func checkGo(words []string) error {
	if len(words) < 4 || words[0] != "-C" || words[2] != "run" {
		return fmt.Errorf("only go -C FOLDER run PACKAGE is known")
	}
	_, err := os.Stat(filepath.Join("..", words[1], words[3]))
	return err
}

// checkTowline returns an error for a command or a flag missing from docs/reference/flags.md.
func checkTowline(words []string) error {
	page, err := os.ReadFile("../docs/reference/flags.md")
	if err != nil {
		return err
	}
	_, section, found := strings.Cut(string(page), "\n## towline "+words[0]+"\n")
	if !found {
		return fmt.Errorf("there is no command %s", words[0])
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, w := range words[1:] {
		if flag, _, _ := strings.Cut(w, "="); !strings.Contains(section, "| `"+flag+"` |") {
			return fmt.Errorf("there is no flag %s", flag)
		}
	}
	return nil
}

// checkTowlineMaestro runs towline-maestro with the arguments and --help. An unknown command or flag is an error.
func checkTowlineMaestro(words []string) error {
	run := exec.Command("go", append([]string{"run", "."}, append(words, "--help")...)...) //nolint:noctx // it prints its help
	run.Dir = "../cmd/towline-maestro"
	out, err := run.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("towline-maestro "+words[0])) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// checkHelm renders the chart with the arguments of an install or upgrade. For an upgrade, the values of the former
// release are missing. checkHelm accepts `helm test` and `helm uninstall` without a check, and returns an error for all
// further commands.
func checkHelm(words []string) error {
	switch words[0] {
	case "test", "uninstall":
		return nil
	case "install", "upgrade":
	default:
		return fmt.Errorf("helm %s is not known here", words[0])
	}
	args := []string{"template", words[1], "chart", "--kube-version=1.35.0"}
	if !strings.Contains(strings.Join(words, " "), "image.repository=") {
		args = append(args, placeholder...)
	}
	for _, w := range words[3:] {
		if w != "--reset-then-reuse-values" && w != "--reuse-values" {
			args = append(args, w)
		}
	}
	if words[2] != "deploy/chart" {
		return fmt.Errorf("the chart is deploy/chart, not %s", words[2])
	}
	program, err := programs[helms[1]]()
	if err != nil {
		return err
	}
	out, err := exec.Command(program, args...).CombinedOutput() //nolint:noctx // it reads files only
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// verbs are the documented verbs of kubectl, with the least number of words for each verb (2 for "rollout restart").
var verbs = map[string]int{
	"annotate": 1, "apply": 1, "create": 2, "delete": 1, "describe": 1, "get": 1, "label": 1, "logs": 1, "patch": 1, "replace": 1, "rollout": 2,
	"scale": 1, "wait": 1,
}

// kubectlFlags are the flags of kubectl allowed in the documentation. The value is true for a flag with an argument.
var kubectlFlags = map[string]bool{
	"-n": true, "--namespace": true, "-f": true, "-k": true, "-l": true, "-o": true, "-p": true, "-A": false, "--all": false, "--type": true,
	"--watch": false, "--server-side": false, "--overwrite": false, "--context": true, "--for": true, "--timeout": true, "--clusterrole": true,
	"--serviceaccount": true, "--field-selector": true, "--group": true, "--hard": true, "--replicas": true, "--from-file": true, "--patch-file": true,
}

// checkKubectl returns an error for an unknown verb or flag, a missing file, or an unreadable patch.
func checkKubectl(words []string) error {
	if words[0] == "towline" {
		return checkPlugin(words[1:])
	}
	var said []string
	for i := 0; i < len(words); i++ {
		flag, value, joined := strings.Cut(words[i], "=")
		if !strings.HasPrefix(flag, "-") {
			said = append(said, words[i])
			continue
		}
		takes, known := kubectlFlags[flag]
		if !known {
			return fmt.Errorf("the flag %s is not known here", flag)
		}
		if takes && !joined {
			if i++; i == len(words) {
				return fmt.Errorf("nothing follows %s", flag)
			}
			value = words[i]
		}
		if err := checkKubectlFlag(flag, value); err != nil {
			return err
		}
	}
	if len(said) == 0 {
		return fmt.Errorf("kubectl without a verb")
	}
	if n, known := verbs[said[0]]; !known || len(said) < n {
		return fmt.Errorf("kubectl %s is not known here", said[0])
	}
	return nil
}

// made are files and folders created by commands of the documentation.
var made = []string{"bin/install.yaml", "bin/addon.yaml"}

func checkKubectlFlag(flag, value string) error {
	switch flag {
	case "-f", "-k", "--from-file", "--patch-file":
		if value == "-" || slices.Contains(made, value) || strings.HasPrefix(value, "https://") {
			return nil
		}
		_, err := os.Stat(filepath.Join("..", value))
		return err
	case "-p":
		var patch any
		return sigsyaml.UnmarshalStrict([]byte(value), &patch)
	}
	return nil
}

// checkPlugin returns an error if docs/cli does not have a command of kubectl towline, or a flag of the command.
func checkPlugin(words []string) error {
	if words[0] == "__complete" { // the request of a shell for completions
		return nil
	}
	n := 0
	var page []byte
	for n < len(words) {
		next, err := os.ReadFile("../docs/cli/kubectl_towline_" + strings.Join(words[:n+1], "_") + ".md")
		if err != nil {
			break
		}
		page = next
		n++
	}
	if page == nil {
		return fmt.Errorf("there is no such command")
	}
	for _, w := range words[n:] {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "-") && !regexp.MustCompile(`(?m)^ +(-\w, )?`+flag+`\b`).Match(page) {
			return fmt.Errorf("there is no flag %s", flag)
		}
	}
	return nil
}
