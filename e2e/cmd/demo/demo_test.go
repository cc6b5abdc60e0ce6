package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/towline"
)

// TestDemo is a visitor of the demo: it types the printed commands, checks the fleet, and ends the demo with Ctrl-C. The test
// starts a fleet, so it runs only with the variable TOWLINE_DEMO_TEST: the place of the works, hub or maestro.
func TestDemo(t *testing.T) {
	transport := os.Getenv("TOWLINE_DEMO_TEST")
	if transport == "" {
		t.Skip("make test-demo runs this test")
	}
	program := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	demo := exec.CommandContext(t.Context(), program, "--transport="+transport)
	demo.Stderr = os.Stderr
	stdout, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	commands := lastCommands(t, stdout)
	t.Logf("the demo printed its last lines after %s", time.Since(began).Round(100*time.Millisecond))

	visit := strings.Join(commands[:len(commands)-1], "\n") + "\nmake plugin && bin/kubectl-towline check\n"
	shell := exec.CommandContext(t.Context(), "sh", "-ec", visit)
	shell.Dir = towline.Root()
	out, err := shell.CombinedOutput()
	t.Logf("%s%s", visit, out)
	if err != nil {
		t.Errorf("the commands end with %v", err)
	}
	for _, cluster := range fleet.ClusterNames(2) {
		if !strings.Contains(string(out), cluster+"-guestbook-app") {
			t.Errorf("no Application of %s", cluster)
		}
	}
	if !strings.HasPrefix(commands[len(commands)-1], "make plugin && ") {
		t.Errorf("the last command is %q", commands[len(commands)-1])
	}
	if err := demo.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := demo.Wait(); err != nil {
		t.Errorf("after Ctrl-C, the demo ends with %v", err)
	}
}

// lastCommands prints the lines of the demo until the fleet stays up, and returns the commands after this line.
func lastCommands(t *testing.T, stdout io.Reader) (commands []string) {
	t.Helper()
	const count = 3
	up := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		t.Log(lines.Text())
		if up {
			commands = append(commands, lines.Text())
		}
		if len(commands) == count {
			go drain(lines)
			return commands
		}
		up = up || strings.Contains(lines.Text(), "stays up until Ctrl-C")
	}
	t.Fatal("the demo ended before its last lines")
	return nil
}

// drain reads all further lines. A full pipe would stop the demo.
func drain(lines *bufio.Scanner) {
	for lines.Scan() {
		continue
	}
}
