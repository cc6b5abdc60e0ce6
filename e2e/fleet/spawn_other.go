//go:build !linux

package fleet

import "syscall"

// childAttributes gives a child a process group of its own, out of reach of the terminal's Ctrl-C. Where the
// kernel does not end the children of a killed supervisor, the next start finds them by its state file.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
