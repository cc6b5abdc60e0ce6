package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"--revocation-grace=59s":                  "59s is not between 1m0s and 168h0m0s",
		"--revocation-grace=169h":                 "is not between",
		"--revocation-limit=0":                    "to let none go, set --on-revocation=freeze",
	} {
		err := parse(t, flag).validate()
		name, _, _ := strings.Cut(flag, "=")
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %q", flag, err, says)
		}
	}
}

func TestDefaultArgoCDNamespace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := defaultArgoCDNamespace(file); got != "argocd" {
		t.Errorf("outside of a pod it is %q", got)
	}
	if err := os.WriteFile(file, []byte("openshift-gitops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := defaultArgoCDNamespace(file); got != "openshift-gitops" {
		t.Errorf("in a pod it is %q", got)
	}
}
