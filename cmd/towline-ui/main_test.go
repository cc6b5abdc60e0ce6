package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestOptions checks that errors name the wrong flag, and that docs/status-page.md has each flag with the default.
func TestOptions(t *testing.T) {
	if err := newOptions().validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*options){
		"--bind-address": func(o *options) { o.address = "8080" },
		"--token-header": func(o *options) { o.tokenHeader = "X Token:" },
		"--api-server":   func(o *options) { o.server = "http://hub" }, // plain HTTP would expose the tokens
	} {
		o := newOptions()
		change(o)
		if err := o.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	docs, err := os.ReadFile("../../docs/status-page.md")
	if err != nil {
		t.Fatal(err)
	}
	newCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(docs), "`--"+f.Name+"`") || !strings.Contains(string(docs), f.DefValue) {
			t.Errorf("docs/status-page.md does not have --%s with its default %q", f.Name, f.DefValue)
		}
	})
}

// TestNoAuthorities checks that the page never verifies the API server by the system's authorities, because users'
// tokens go to the API server.
func TestNoAuthorities(t *testing.T) {
	o := newOptions()
	o.address, o.caFile = "127.0.0.1:0", filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(o.caFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel() // a page that wrongly starts ends at once
	if err := run(done, o); err == nil || !strings.Contains(err.Error(), "--api-server-ca") || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("got %v", err)
	}
}
