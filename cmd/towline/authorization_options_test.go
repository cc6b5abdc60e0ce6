package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestValidateAuthorization(t *testing.T) {
	for flag, says := range map[string]string{
		"--cluster-authorization=any":             `"any" is not one of binding-or-placement, placement, none`,
		"--argocd-namespace=a.b":                  `"a.b" cannot be a namespace`,
		"--argocd-namespace=":                     "cannot be a namespace",
		"--allowed-app-namespaces=team-a":         `"team-a" is not <namespaces on the hub>=<namespaces on the cluster>`,
		"--app-namespaces=local-cluster=No":       `"local-cluster=No" is not <cluster>=<namespace>, with {namespace} for the one on the hub`,
		"--allowed-app-namespaces=a=[":            "unexpected end of input",
		"--work-executor-service-account=applier": `"applier" is not <namespace>/<name> of a ServiceAccount`,
		"--on-revocation=ask":                     `"ask" is not freeze or delete`,
	} {
		err := parse(t, flag).validate()
		name, _, _ := strings.Cut(flag, "=")
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %q", flag, err, says)
		}
	}
}

func TestPodNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := podNamespace(file); got != "" {
		t.Errorf("outside a pod the namespace is %q", got)
	}
	if err := os.WriteFile(file, []byte("openshift-gitops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := podNamespace(file); got != "openshift-gitops" {
		t.Errorf("in a pod the namespace is %q", got)
	}
}

// TestLeaseNamespace checks that the Lease is in the namespace of Argo CD outside a pod.
func TestLeaseNamespace(t *testing.T) {
	m := managerOptions(runtime.NewScheme(), parse(t, "--argocd-namespace=gitops"))
	if m.LeaderElectionNamespace != "gitops" {
		t.Errorf("the Lease is in %q", m.LeaderElectionNamespace)
	}
}
