package main

import (
	"strings"
	"testing"
)

func TestParseLabels(t *testing.T) {
	got, err := parseLabels([]string{"cluster1:env=dev", "cluster1:a=b=c", "cluster2:env="})
	if err != nil {
		t.Fatal(err)
	}
	if got["cluster1"]["env"] != "dev" || got["cluster1"]["a"] != "b=c" || len(got["cluster2"]) != 1 {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"env=dev", "cluster1:env", ""} {
		if _, err := parseLabels([]string{bad}); err == nil || !strings.Contains(err.Error(), "<cluster>:<key>=<value>") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}

func TestBadFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"up", "--clusters", "-1"}, {"up", "surplus"}, {"up", "--label", "x"}, {"status", "-o", "yaml", "--dir", t.TempDir()},
		{"stop", "cluster1"}, {"rebuild"},
	} {
		root := newRoot()
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
