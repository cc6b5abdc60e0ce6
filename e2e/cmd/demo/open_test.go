package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a program of a shell script into a folder.
func script(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServePage(t *testing.T) {
	folder := t.TempDir()
	// servePage returns after the address, and the test then stops the program: the address must come last.
	plugin := script(t, folder, "kubectl-towline",
		`echo "$@" >`+folder+`/args; echo "The page is at"; echo "  http://127.0.0.1:1/?token=x"; exec sleep 60`)
	opened := filepath.Join(folder, "opened")
	script(t, folder, "xdg-open", `echo "$1" >`+opened)
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	stop, err := servePage(t.Context(), plugin, "hub.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stop()
	for file, want := range map[string]string{"opened": "http://127.0.0.1:1/?token=x\n", "args": "dashboard --kubeconfig hub.yaml\n"} {
		if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

func TestServePageWithoutAddress(t *testing.T) {
	plugin := script(t, t.TempDir(), "kubectl-towline", "exit 1")
	if _, err := servePage(t.Context(), plugin, "hub.yaml"); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("got %v", err)
	}
}

func TestNoBrowser(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	if got := openBrowser(t.Context(), "http://127.0.0.1:1/"); !strings.Contains(got, "No browser") {
		t.Error(got)
	}
	script(t, folder, "xdg-open", "exit 3") // as without a display
	if got := openBrowser(t.Context(), "http://127.0.0.1:1/"); !strings.Contains(got, "No browser") {
		t.Error(got)
	}
}
