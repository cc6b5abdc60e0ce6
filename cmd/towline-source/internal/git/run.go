package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stop is how long git may take to end after the end of its context.
const stop = 5 * time.Second

// stall is the number of seconds without a byte after which git ends a transfer by HTTP. A busy Git server sends a byte
// every few seconds.
const stall = "60"

// maxErrorText is the number of kept bytes of git's error output.
const maxErrorText = 4 << 10

// base is the environment of each git process. Git reads no configuration of the machine or of a user, asks nobody for
// a password, and refuses protocols that could run programs.
func base() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true",
		"GIT_ALLOW_PROTOCOL=https:http:ssh", "GIT_OPTIONAL_LOCKS=0",
		"GIT_HTTP_LOW_SPEED_LIMIT=1", "GIT_HTTP_LOW_SPEED_TIME=" + stall,
	}
}

// An Error is the failure of a git command.
type Error struct {
	// Command is the command of git, for example "fetch".
	Command string

	// Text is git's error output. It may have the address of the repository, but no credential.
	Text string

	err error
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("git %s: %v", e.Command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Text)
}

// Remote reports whether the command has spoken with a Git server. All other commands read and write the mirror only.
func (e *Error) Remote() bool { return e.Command == "ls-remote" || e.Command == "fetch" }

// Unwrap returns the error of the process.
func (e *Error) Unwrap() error { return e.err }

// run runs git in a folder with further variables of the environment, and returns the output.
func run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	var out bytes.Buffer
	err := pipe(ctx, dir, env, nil, &out, args...)
	return out.String(), err
}

// pipe is run with an input and a destination of the output.
func pipe(ctx context.Context, dir string, env []string, in io.Reader, out io.Writer, args ...string) error {
	text := &head{left: maxErrorText}
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // no shell, and options end before each address
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, append(base(), env...), in, out, text
	// The program for the connection is a child of git. Alone, the child stays, and holds git's output open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = stop
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return &Error{Command: args[0], Text: strings.TrimSpace(text.String()), err: err}
	}
	return nil
}

// head keeps the first bytes of a text.
type head struct {
	bytes.Buffer
	left int
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.left -= n
	h.Buffer.Write(p[:n])
	return len(p), nil
}
