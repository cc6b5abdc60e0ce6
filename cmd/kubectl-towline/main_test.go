package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/gate"
	"github.com/towline-io/towline/pkg/why"
)

// TestExitCode checks the exit codes, because scripts depend on them.
func TestExitCode(t *testing.T) {
	for title, tc := range map[string]struct {
		err   error
		code  int
		shown string
	}{
		"good":      {nil, 0, ""},
		"blocked":   {found(why.Blocked), 2, ""},
		"waiting":   {found(why.Waiting), 3, ""},
		"unread":    {found(why.Unknown), 4, ""},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{Resource: "applications"}, "a", errors.New("no")), 4, "error: applications"},
		"an error":  {errors.New("no route to host"), 1, "error: no route to host"},
	} {
		var out bytes.Buffer
		if code := exitCode(tc.err, &out); code != tc.code || !strings.HasPrefix(out.String(), tc.shown) || tc.shown == "" && out.Len() > 0 {
			t.Errorf("%s: %d, %q", title, code, out.String())
		}
	}
}

// TestUnknownOutput checks that each command refuses an unknown format before the command reads the hub.
func TestUnknownOutput(t *testing.T) {
	var check func(cmd *cobra.Command, path []string)
	check = func(cmd *cobra.Command, path []string) {
		for _, sub := range cmd.Commands() {
			check(sub, append(slices.Clone(path), sub.Name()))
		}
		if !cmd.Runnable() || cmd.Name() == "help" {
			return
		}
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			root := newCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
			found, _, err := root.Find(path)
			if err != nil {
				t.Fatal(err)
			}
			found.Args = cobra.ArbitraryArgs // the names of objects do not matter
			root.SetArgs(append(path, "--output", "xml", "--kubeconfig", filepath.Join(t.TempDir(), "missing")))
			want := `--output: "xml" is not one of ` + strings.Join(formats, ", ")
			if err := root.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	check(newCommand(genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}), nil)
}

// TestApplicationSet checks that nested generators are found, and that invalid objects have none.
func TestApplicationSet(t *testing.T) {
	read := func(text string) *applicationSet {
		s := newApplicationSet()
		if err := yaml.Unmarshal([]byte(text), &s.Object); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := read(`
spec:
  generators:
  - clusterDecisionResource: {labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: a}}}
  - matrix: {generators: [{git: {}}, {clusterDecisionResource: {labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: b}}}}]}
status:
  resources: [{}, {}]
  conditions: [{type: ErrorOccurred, status: "True", message: bad, lastTransitionTime: "2026-01-02T03:04:05Z"}, 7]
`)
	if g := s.decisionGenerators(); len(g) != 2 || s.applications() != 2 {
		t.Errorf("got %v, %d Applications", g, s.applications())
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if c := s.conditions(); len(c) != 1 || c[0].Message != "bad" || !c[0].LastTransitionTime.Time.Equal(at) {
		t.Errorf("got %+v", c)
	}
	odd := read(`{spec: {generators: {}}, status: 7}`)
	if len(odd.decisionGenerators()) > 0 || len(odd.conditions()) > 0 || odd.applications() != 0 {
		t.Errorf("got %+v", odd)
	}
}

// TestPrintDiagnosis checks that text from a cluster cannot control the terminal.
func TestPrintDiagnosis(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	since := now.Add(-5 * time.Minute)
	o := newOptions(genericiooptions.IOStreams{Out: &out})
	err := o.printDiagnosis(&why.Diagnosis{Application: "argocd/a", Cluster: "c1", Unread: []string{"get managedclusters"}, Links: []why.Link{
		{Name: why.LinkKeys, State: why.OK, Message: "fine"},
		{Name: why.LinkArgoCD, State: why.Blocked, Message: "no\x1b[31m \u202eway", Reason: "SyncError", Since: &since, Who: "you", Do: "kubectl edit"},
	}}, now)
	want := `Application argocd/a on c1

✓ Application        fine
✗ cluster's Argo CD  no [31m  way (for 5m)
    reason  SyncError
    who     you
    do      kubectl edit
?                    not allowed: get managedclusters

The Application is stopped at: cluster's Argo CD.
`
	if err != nil || out.String() != want {
		t.Errorf("%v:\n%s", err, out.String())
	}
	out.Reset()
	err = o.printDiagnosis(&why.Diagnosis{Application: "argocd/a", Cluster: "c1", Trace: []gate.TraceEntry{
		{Gate: "cluster exists"}, {Gate: "running operation", Work: "c1/a"}, {Gate: "finalizers", Work: "c1/a", Words: "\x1b[31m is pruning"},
	}}, now)
	want = `Application argocd/a on c1


The Application is on the cluster, and healthy.

The checks and steps of the decision:
✓ cluster exists
✓ running operation      c1/a
✗ finalizers             c1/a:  [31m is pruning
`
	if err != nil || out.String() != want {
		t.Errorf("%v:\n%s", err, out.String())
	}
	out.Reset()
	o.output = "name"
	if err := o.printDiagnosis(&why.Diagnosis{Set: "argocd/s"}, now); err != nil || out.String() != "applicationset.argoproj.io/argocd/s\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	o.output = "xml"
	if err := o.validate(); err == nil || !strings.Contains(err.Error(), `--output: "xml" is not one of table`) {
		t.Errorf("got %v", err)
	}
}

// TestNamedCommandsExist checks that documentation and remedies name only existing commands.
func TestNamedCommandsExist(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: %v", files, err)
	}
	named := regexp.MustCompile("kubectl towline ([a-z]+)")
	root := newCommand(genericiooptions.IOStreams{})
	root.InitDefaultCompletionCmd()
	for _, file := range append(files, "../../README.md", "../../pkg/why/remedies.go", "../../pkg/steer/lifecycle.go", "../../pkg/check/hub.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if cmd, _, err := root.Find(m[1:]); err != nil || cmd == root {
				t.Errorf("%s names kubectl towline %s", file, m[1])
			}
		}
	}
}
