package fleet

import "syscall"

// childAttributes gives a child its own process group, unreachable for the terminal's Ctrl-C. The kernel kills the
// child if this process is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
