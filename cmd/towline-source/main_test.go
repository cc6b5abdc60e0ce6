package main

import (
	"io"
	"strings"
	"testing"

	"github.com/towline-io/towline/pkg/source"
)

// TestLookTimeout: with each permitted value, the agents get the failure of a Git server before they repeat a kept answer.
func TestLookTimeout(t *testing.T) {
	if maxLookTimeout >= source.KeptTimeout {
		t.Errorf("the agents wait %s, and a look takes up to %s", source.KeptTimeout, maxLookTimeout)
	}
	for value, refused := range map[string]bool{maxLookTimeout.String(): false, source.KeptTimeout.String(): true, "0s": true} {
		cmd := newCommand()
		cmd.SetArgs([]string{"--look-timeout=" + value, "--max-bytes=0"}) // the program never starts
		cmd.SetOut(io.Discard)
		err := cmd.ExecuteContext(t.Context())
		if err == nil || strings.Contains(err.Error(), "--look-timeout") != refused {
			t.Errorf("%s: %v", value, err)
		}
	}
}
