package fleet

import (
	"os/exec"
	"runtime"
	"sync"
)

type spawnRequest struct {
	cmd    *exec.Cmd
	result chan error
}

var spawner = sync.OnceValue(func() chan<- spawnRequest {
	requests := make(chan spawnRequest)
	go func() {
		// Linux signals a child when the thread that made it ends (not the process). So all children
		// are made by one thread, which is locked to this goroutine and never ends before the process.
		runtime.LockOSThread()
		for r := range requests {
			r.result <- r.cmd.Start()
		}
	}()
	return requests
})

// spawn starts a command that dies with this process.
func spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttributes()
	request := spawnRequest{cmd: cmd, result: make(chan error)}
	spawner() <- request
	return <-request.result
}
