package main

import (
	"strings"
	"testing"
)

func TestValidateSources(t *testing.T) {
	if err := parse(t, "--resource-source=").validate(); err != nil {
		t.Errorf("feedback alone: %v", err)
	}
	token := map[string]string{"token": "x"}
	if err := parse(t, "--resource-source=search", "--search="+folder(t, token)).validate(); err != nil {
		t.Errorf("search, discovered: %v", err)
	}
	for flag, says := range map[string]string{
		"--resource-source=nonsense":     `there is no source "nonsense": use agent, search, or nothing`,
		"--resource-source=feedback":     `there is no source "feedback"`,
		"--search=/does/not/exist":       "no such file",
		"--search=" + kubeconfig(t, "x"): "is not a folder",
	} {
		err := parse(t, "--resource-source=search", "--search="+folder(t, token), flag).validate()
		name, _, _ := strings.Cut(flag, "=")
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %q", flag, err, says)
		}
	}
}

func TestSearchFolder(t *testing.T) {
	for url, says := range map[string]string{
		"http://search":              "does not begin with https://",
		"https://":                   "names no host",
		"https://user:secret@search": "has a user, a query or a fragment",
		"\n":                         "url is empty",
	} {
		err := parse(t, "--resource-source=search", "--search="+folder(t, map[string]string{"token": "x", "url": url})).validate()
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "--search: ") {
			t.Errorf("%q: got %v, want %q", url, err, says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is in the message: %v", err)
		}
	}
	dir := folder(t, map[string]string{"token": "x", "url": "https://search/graphql\n", "ca.crt": "c"})
	o := parse(t, "--resource-source=search", "--search="+dir)
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	if got := controllerOptions(o).Search; got.URL != "https://search/graphql" || got.CAFile != dir+"/ca.crt" || got.TokenFile != dir+"/token" {
		t.Errorf("got %+v", got)
	}
}

// TestSearchFolderWithoutTheSource checks the error for a Search folder without the source search.
func TestSearchFolderWithoutTheSource(t *testing.T) {
	err := parse(t, "--search="+t.TempDir()).validate()
	if err == nil || !strings.Contains(err.Error(), "--search: of use only with --resource-source=search") {
		t.Errorf("got %v", err)
	}
}

// TestSearchOutsideAPod checks the error at the start of the program: only a pod has a token without a folder.
func TestSearchOutsideAPod(t *testing.T) {
	for _, args := range [][]string{{"--resource-source=search"}, {"--resource-source=search", "--search=" + t.TempDir()}} {
		err := parse(t, args...).validate()
		if err == nil || !strings.Contains(err.Error(), "--search: no token") ||
			!strings.Contains(err.Error(), "stat /var/run/secrets/kubernetes.io/serviceaccount/token") {
			t.Errorf("got %v", err)
		}
	}
}
