//go:build !linux

package fleet

import "syscall"

// childAttributes gives a child its own process group, unreachable for the terminal's Ctrl-C. If the kernel does not
// end the children of a killed supervisor, the next start finds the children by the state file.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
