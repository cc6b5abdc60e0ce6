package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// readyMark begins the last line of `up` before it is ready.
const readyMark = "process "

// detach runs the same command again in a new session, and shows its progress until the fleet is ready.
func detach(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var args []string
	for _, arg := range os.Args[1:] {
		if arg != "--detach" && arg != "--detach=true" {
			args = append(args, arg)
		}
	}
	file, err := os.CreateTemp("", "towline-fleet-*.log")
	if err != nil {
		return err
	}
	defer file.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the fleet in the background: %w", err)
	}
	if err := follow(ctx, cmd, file.Name(), out); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	fmt.Fprintf(out, "the further output goes to %s\n", file.Name())
	return nil
}

// follow copies the output of the fleet until the fleet is up, or ends.
func follow(ctx context.Context, cmd *exec.Cmd, path string, out io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	var part string
	for {
		text, err := lines.ReadString('\n')
		part += text
		if err == nil {
			fmt.Fprint(out, part)
			if strings.HasPrefix(part, readyMark) {
				return nil
			}
			part = ""
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		if err := pause(ctx, cmd, ended); err != nil {
			rest, _ := io.ReadAll(lines)
			fmt.Fprint(out, string(rest))
			return err
		}
	}
}

// pause waits for more output. The end of either process ends the wait, and Ctrl-C here ends the fleet too.
func pause(ctx context.Context, cmd *exec.Cmd, ended chan error) error {
	select {
	case err := <-ended:
		return fmt.Errorf("the fleet did not come up: %w", err)
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return errors.Join(context.Cause(ctx), <-ended)
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
