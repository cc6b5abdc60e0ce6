package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// servePage runs the program kubectl-towline with the status page, and opens the page in a browser. The returned function stops
// the program.
func servePage(ctx context.Context, plugin, kubeconfig string) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, plugin, "dashboard", "--kubeconfig", kubeconfig)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address := strings.TrimSpace(lines.Text()); strings.HasPrefix(address, "http://") {
			say("The status page is at " + address)
			fmt.Println(openBrowser(ctx, address))
			return stop, nil
		}
	}
	stop()
	return nil, errors.New("kubectl towline dashboard printed no address")
}

// openBrowser opens the address in the user's browser, and returns a sentence about the result.
func openBrowser(ctx context.Context, address string) string {
	for _, program := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(program); err == nil && exec.CommandContext(ctx, path, address).Run() == nil {
			return "The page is open in a browser. The address works once."
		}
	}
	return "No browser is found. Open the address in a browser of this machine: the address works once."
}
