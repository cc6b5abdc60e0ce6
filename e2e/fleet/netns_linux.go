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

	"golang.org/x/sys/unix"
)

// A Netns is a network namespace without a network card. Its processes reach only the addresses of Reach. All addresses
// are on the loopback interface, and mean the same inside and outside.
type Netns struct {
	name      string
	file      *os.File
	listeners []net.Listener
}

// NewNetns makes a network namespace. The process needs the rights of root.
func NewNetns(ctx context.Context, name string) (*Netns, error) {
	if err := ip(ctx, "netns", "add", name); err != nil {
		return nil, err
	}
	n := &Netns{name: name}
	if err := ip(ctx, "-netns", name, "link", "set", "lo", "up"); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	var err error
	if n.file, err = os.Open(filepath.Join("/run/netns", name)); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	return n, nil
}

func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Close removes the namespace. Its processes must have ended.
func (n *Netns) Close(ctx context.Context) error {
	for _, l := range n.listeners {
		_ = l.Close()
	}
	if n.file != nil {
		_ = n.file.Close()
	}
	return ip(ctx, "netns", "del", n.name)
}

// Command returns the arguments of a program that runs a command in the namespace.
func (n *Netns) Command(path string, args ...string) (string, []string) {
	return "ip", append([]string{"netns", "exec", n.name, path}, args...)
}

// Reach lets the processes of the namespace reach addresses outside.
func (n *Netns) Reach(addresses ...string) error {
	for _, address := range addresses {
		l, err := call(n, func() (net.Listener, error) { return net.Listen("tcp", address) })
		if err != nil {
			return err
		}
		n.forward(l, func() (net.Conn, error) { return net.Dial("tcp", address) })
	}
	return nil
}

// Serve lets the processes outside reach addresses of the namespace.
func (n *Netns) Serve(addresses ...string) error {
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

// call runs a function on a thread in the namespace. The thread ends with the goroutine, because the goroutine never
// unlocks the thread.
func call[T any](n *Netns, do func() (T, error)) (T, error) {
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
func (n *Netns) forward(l net.Listener, dial func() (net.Conn, error)) {
	n.listeners = append(n.listeners, l)
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
