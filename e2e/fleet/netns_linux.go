package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A netns is a network namespace without a network card. Its processes reach only each other and the addresses of reach. All
// addresses are on the loopback interface, and mean the same inside and outside.
type netns struct {
	name string
	file *os.File

	mu        sync.Mutex
	listeners []net.Listener
}

// netnsDir is the folder with the names of network namespaces: see ip-netns(8).
const netnsDir = "/run/netns"

// newNetns makes a network namespace. The process needs the rights of root.
func newNetns(ctx context.Context, name string) (*netns, error) {
	_ = deleteNetns(name) // a killed fleet leaves its namespace
	if err := ip(ctx, "netns", "add", name); err != nil {
		return nil, err
	}
	if err := ip(ctx, "-netns", name, "link", "set", "lo", "up"); err != nil {
		return nil, errors.Join(err, deleteNetns(name))
	}
	n, err := openNetns(name)
	if err != nil {
		return nil, errors.Join(err, deleteNetns(name))
	}
	return n, nil
}

// openNetns opens an existing network namespace.
func openNetns(name string) (*netns, error) {
	file, err := os.Open(filepath.Join(netnsDir, name))
	if err != nil {
		return nil, err
	}
	return &netns{name: name, file: file}, nil
}

func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// close ends the forwarding, and leaves the namespace to others.
func (n *netns) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.listeners {
		_ = l.Close()
	}
	_ = n.file.Close()
}

// remove closes and removes the namespace. Its processes must have ended.
func (n *netns) remove() error {
	n.close()
	return deleteNetns(n.name)
}

// deleteNetns removes the name of a network namespace, as ip netns del does. The namespace ends with its last process.
func deleteNetns(name string) error {
	path := filepath.Join(netnsDir, name)
	return errors.Join(unix.Unmount(path, unix.MNT_DETACH), os.Remove(path))
}

// command returns the arguments of a program that runs a command in the namespace.
func (n *netns) command(path string, args ...string) (string, []string) {
	return "ip", append([]string{"netns", "exec", n.name, path}, args...)
}

// reach lets the processes of the namespace reach addresses outside.
func (n *netns) reach(addresses ...string) error {
	for _, address := range addresses {
		l, err := call(n, func() (net.Listener, error) { return net.Listen("tcp", address) })
		if err != nil {
			return err
		}
		n.forward(l, func() (net.Conn, error) { return net.Dial("tcp", address) })
	}
	return nil
}

// serve lets the processes outside reach addresses of the namespace.
func (n *netns) serve(addresses ...string) error {
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		n.forward(l, func() (net.Conn, error) {
			return call(n, func() (net.Conn, error) { return net.Dial("tcp", address) })
		})
	}
	return nil
}

// within runs a function on the thread of the calling goroutine, which must be locked to the thread. Meanwhile, the thread is
// in the namespace. A nil namespace is the network of the machine.
func (n *netns) within(do func() error) error {
	if n == nil {
		return do()
	}
	machine, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer machine.Close()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	defer func() {
		if err := unix.Setns(int(machine.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(fmt.Sprintf("the thread cannot leave the network namespace %s: %v", n.name, err))
		}
	}()
	return do()
}

// call runs a function on a thread in the namespace. The thread ends with the goroutine, because the goroutine never
// unlocks the thread.
func call[T any](n *netns, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		var r result
		if r.err = unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); r.err == nil {
			r.value, r.err = do()
		}
		done <- r
	}()
	r := <-done
	return r.value, r.err
}

// forward connects each connection of a listener with a connection of dial.
func (n *netns) forward(l net.Listener, dial func() (net.Conn, error)) {
	n.mu.Lock()
	n.listeners = append(n.listeners, l)
	n.mu.Unlock()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer from.Close()
				to, err := dial()
				if err != nil {
					return
				}
				defer to.Close()
				ended := make(chan struct{}, 2)
				for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
					go func() {
						_, _ = io.Copy(way[0], way[1])
						_ = way[0].(*net.TCPConn).CloseWrite()
						ended <- struct{}{}
					}()
				}
				<-ended
				<-ended
			}()
		}
	}()
}
