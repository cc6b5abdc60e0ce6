package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestOptions: mistakes are named, and docs/status-page.md has each flag with its default.
func TestOptions(t *testing.T) {
	if err := newOptions().validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*options){
		"--bind-address": func(o *options) { o.address = "8080" },
		"--api-server":   func(o *options) { o.server = "http://hub" }, // tokens would be read on the way
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
