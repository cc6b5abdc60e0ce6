package main

import (
	"strings"
	"testing"
)

func TestValidateSources(t *testing.T) {
	token := kubeconfig(t, "x") // any file
	if err := parse(t, "--resource-source=").validate(); err != nil {
		t.Errorf("feedback alone: %v", err)
	}
	if err := parse(t, "--resource-source=search", "--search-token-file="+token).validate(); err != nil {
		t.Errorf("search, discovered: %v", err)
	}
	for flag, says := range map[string]string{
		"--resource-source=nonsense":                   `there is no source "nonsense": use agent, search, or nothing`,
		"--resource-source=feedback":                   `there is no source "feedback"`,
		"--search-url=http://search":                   "does not begin with https://",
		"--search-url=https://":                        "names no host",
		"--search-url=https://user:secret@search":      "has a user, a query or a fragment",
		"--search-ca-file=/does/not/exist":             "no such file",
		"--search-ca-file=" + t.TempDir():              "is a folder",
		"--search-token-file=/does/not/exist":          "no such file",
		"--search-interval=10ms":                       "10ms is not between 1s and 1h0m0s",
		"--search-interval=2h":                         "2h0m0s is not between",
		"--search-token-file=/var/run/not/mounted/yet": "no such file",
	} {
		t.Run(flag, func(t *testing.T) {
			err := parse(t, "--resource-source=search", "--search-token-file="+token, flag).validate()
			name, _, _ := strings.Cut(flag, "=")
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want %q", err, says)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("a password is in the message: %v", err)
			}
		})
	}
}

// TestSearchFlagsForNothing: who sets them means to use search.
func TestSearchFlagsForNothing(t *testing.T) {
	token := kubeconfig(t, "x")
	for _, flag := range []string{"--search-url=https://search", "--search-ca-file=" + token, "--search-token-file=" + token, "--search-interval=1m"} {
		name, _, _ := strings.Cut(flag, "=")
		if err := parse(t, flag).validate(); err == nil || !strings.Contains(err.Error(), name+": of use only with --resource-source=search") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestSearchOutsideAPod: there is no token by itself, which is told at once.
func TestSearchOutsideAPod(t *testing.T) {
	err := parse(t, "--resource-source=search").validate()
	if err == nil || !strings.Contains(err.Error(), "--search-token-file: stat /var/run/secrets/kubernetes.io/serviceaccount/token") {
		t.Errorf("got %v", err)
	}
}
