package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/towline-io/towline/pkg/agent"
	"github.com/towline-io/towline/pkg/agent/sourceproxy"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// parseAgent returns the options of a `towline agent` command line.
func parseAgent(t *testing.T, args ...string) *agentOptions {
	t.Helper()
	o := newAgentOptions()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.addFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAgentFlagsDoSomething(t *testing.T) {
	hub := kubeconfig(t, "https://hub.example.com")
	o := parseAgent(t, "--hub-kubeconfig="+hub, "--cluster-name=cluster1", "--application-namespaces=argocd,team-a",
		"--health-probe-bind-address=:7", "--metrics-bind-address=:9", "--not-compared-after=0", "--argocd-tree=argocd",
		"--argocd-managed-resources=openshift-gitops", "--source-bind-address=:8444", "--source-namespace=agents",
		"--source-argocd-namespace=argocd", "--source-address=https://127.0.0.1:8444")
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	config, err := hubRESTConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://hub.example.com" || !strings.HasPrefix(config.UserAgent, "towline-agent/") {
		t.Errorf("the hub is %s, for %s", config.Host, config.UserAgent)
	}
	m := agentManagerOptions(runtime.NewScheme(), o)
	var namespaces []string
	for obj, by := range m.Cache.ByObject {
		if _, ok := obj.(*argocd.Application); ok {
			for ns := range by.Namespaces {
				namespaces = append(namespaces, ns)
			}
			if by.Label.Empty() || by.Transform == nil {
				t.Error("the cache holds Applications that did not come from the hub, or all of each")
			}
		}
	}
	if len(namespaces) != 2 {
		t.Errorf("namespaces %v", namespaces)
	}
	if diff := cmp.Diff([]string{":7", ":9"}, []string{m.HealthProbeBindAddress, m.Metrics.BindAddress}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if o.notComparedAfter != 0 || newAgentOptions().notComparedAfter != agent.DefaultNotComparedAfter {
		t.Errorf("not compared after %s", o.notComparedAfter)
	}
	want := agent.Options{
		Namespace: "cluster1", ArgoCDTree: "argocd", ArgoCDManagedResources: "openshift-gitops",
		Source: sourceproxy.Options{BindAddress: ":8444", Namespace: "agents", ArgoCDNamespace: "argocd", Address: "https://127.0.0.1:8444"},
	}
	if got := o.agent(); got != want {
		t.Errorf("the agent is told %+v", got)
	}
	if o := parseAgent(t).agent(); o.ArgoCDTree != "" || o.ArgoCDManagedResources != "" || o.Source.Enabled() {
		t.Error("trees are read, or sources served, without being asked for")
	}
	if m.LeaderElection {
		t.Error("the agent would need rights to elect a leader")
	}
}

func TestAgentValidate(t *testing.T) {
	good := []string{"--hub-kubeconfig=x", "--cluster-name=cluster1"}
	if err := parseAgent(t, good...).validate(); err != nil {
		t.Error(err)
	}
	for flag, says := range map[string]string{
		"--hub-kubeconfig=":              "--hub-kubeconfig",
		"--cluster-name=":                "--cluster-name",
		"--cluster-name=A":               "--cluster-name",
		"--application-namespaces=a,b/c": "--application-namespaces",
		"--not-compared-after=9s":        "--not-compared-after",
		"--not-compared-after=169h":      "--not-compared-after",
		"--log-format=xml":               "--log-format",
		"--argocd-tree=a/b":              "--argocd-tree",
		"--argocd-managed-resources=a/b": "--argocd-managed-resources",
	} {
		err := parseAgent(t, append(good, flag)...).validate()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestSourceValidate(t *testing.T) {
	good := []string{
		"--hub-kubeconfig=x", "--cluster-name=cluster1", "--source-bind-address=:8444", "--source-namespace=agents", "--source-argocd-namespace=argocd",
	}
	if err := parseAgent(t, good...).validate(); err != nil {
		t.Error(err)
	}
	for flag, says := range map[string]string{
		"--source-bind-address=":            "of use only with --source-bind-address",
		"--source-bind-address=0":           "--source-bind-address",
		"--source-bind-address=8444":        "--source-bind-address",
		"--source-namespace=":               "--source-namespace",
		"--source-argocd-namespace=a/b":     "--source-argocd-namespace",
		"--source-address=http://a.example": "--source-address",
		"--source-address=https://[::1]":    "--source-address",
	} {
		err := parseAgent(t, append(good, flag)...).validate()
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestNotComparedByVariable checks that the add-on's config sets the option, and that a flag wins. A config without
// the variable changes nothing.
func TestNotComparedByVariable(t *testing.T) {
	for title, tc := range map[string]struct {
		value string
		args  []string
		want  time.Duration
		fails bool
	}{
		"none":       {"", nil, agent.DefaultNotComparedAfter, false},
		"long":       {"2h", nil, 2 * time.Hour, false},
		"never":      {"0", nil, 0, false},
		"and flag":   {"2h", []string{"--not-compared-after=1h"}, time.Hour, false},
		"no time":    {"soon", nil, agent.DefaultNotComparedAfter, true},
		"unreplaced": {"{{NOT_COMPARED_AFTER}}", nil, agent.DefaultNotComparedAfter, true},
	} {
		o, fs := newAgentOptions(), pflag.NewFlagSet("agent", pflag.ContinueOnError)
		o.addFlags(fs)
		if err := fs.Parse(tc.args); err != nil {
			t.Fatal(err)
		}
		err := o.fromEnvironment(func(name string) (string, bool) { return tc.value, name == "NOT_COMPARED_AFTER" && tc.value != "" }, fs)
		if o.notComparedAfter != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %s, %v", title, o.notComparedAfter, err)
		}
	}
}
