package main

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestTheDeploymentsArguments are flags of the program, and enough to start it.
func TestTheDeploymentsArguments(t *testing.T) {
	data, err := os.ReadFile("../../deploy/maestro/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(data, &deployment); err != nil {
		t.Fatal(err)
	}
	args := deployment.Spec.Template.Spec.Containers[0].Args
	if err := newCommand().ParseFlags(args); err != nil {
		t.Error(err)
	}
}

// TestWhatIsMissingIsSaid, each with its flag.
func TestWhatIsMissingIsSaid(t *testing.T) {
	for want, args := range map[string][]string{
		"--maestro-url":       {"--maestro-grpc=a:1"},
		"--maestro-grpc":      {"--maestro-url=https://a"},
		"--maestro-key-file":  {"--maestro-url=https://a", "--maestro-grpc=a:1", "--maestro-cert-file=x"},
		"--maestro-plaintext": {"--maestro-url=http://a", "--maestro-grpc=a:1", "--maestro-token-file=x", "--maestro-plaintext"},
		"--source":            {"--maestro-url=https://a", "--maestro-grpc=a:1", "--source=a/b"},
	} {
		cmd := newCommand()
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
