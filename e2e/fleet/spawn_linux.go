package fleet

import "syscall"

// childAttributes gives a child a process group of its own, out of reach of the terminal's Ctrl-C, and has
// the kernel kill it if this process is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
