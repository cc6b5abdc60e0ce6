package fleet

import (
	"os/exec"
	"runtime"
	"sync"
)

type spawnRequest struct {
	cmd    *exec.Cmd
	netns  *netns
	result chan error
}

var spawner = sync.OnceValue(func() chan<- spawnRequest {
	requests := make(chan spawnRequest)
	go func() {
		// Linux signals a child when the thread that made the child ends, not only when the process ends. All children
		// are therefore made by a single thread. The thread is locked to this goroutine and lives as long as the
		// process.
		runtime.LockOSThread()
		for r := range requests {
			r.result <- r.netns.within(r.cmd.Start)
		}
	}()
	return requests
})

// spawn starts a command in a network namespace; nil for the network of the machine. The command's process dies with this
// process.
func spawn(cmd *exec.Cmd, n *netns) error {
	cmd.SysProcAttr = childAttributes()
	request := spawnRequest{cmd: cmd, netns: n, result: make(chan error)}
	spawner() <- request
	return <-request.result
}
