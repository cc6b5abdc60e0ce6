package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// IsolateRepoServer moves the repo server of the plane's Argo CD into a network namespace. There, the repo server
// reaches its Redis, and the given addresses. The returned function moves the repo server back.
func (c *ControlPlane) IsolateRepoServer(ctx context.Context, reach ...string) (*Netns, func(context.Context) error, error) {
	args, env, err := c.commandOf(ctx, repoServer)
	if err != nil {
		return nil, nil, err
	}
	n, err := NewNetns(ctx, c.fleet.paths.netns(c.name))
	if err != nil {
		return nil, nil, err
	}
	if err := c.StopProcess(ctx, repoServer); err != nil {
		return nil, nil, errors.Join(err, n.Close(ctx))
	}
	serves := []string{"127.0.0.1:" + flagOf(args, "port"), "127.0.0.1:" + flagOf(args, "metrics-port")}
	if err := errors.Join(n.Reach(append(reach, c.redis)...), n.Serve(serves...)); err != nil {
		return nil, nil, errors.Join(err, n.Close(ctx), c.StartProcess(ctx, repoServer))
	}
	path, args := n.Command(args[0], args[1:]...)
	process, err := c.fleet.Run(ctx, Command{
		Name: c.name + "-isolated-repo-server", Path: path, Args: args, Env: env, Ready: httpProbe("http://" + serves[1] + "/healthz"),
		ReadyTimeout: 2 * time.Minute,
	})
	if err != nil {
		return nil, nil, errors.Join(err, n.Close(ctx), c.StartProcess(ctx, repoServer))
	}
	c.isolated = process
	return n, func(ctx context.Context) error {
		process.Stop()
		c.isolated = nil
		return errors.Join(n.Close(ctx), c.StartProcess(ctx, repoServer))
	}, nil
}

// flagOf returns the value of a flag in arguments.
func flagOf(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

// commandOf returns the arguments, with the program, and the environment of a running process of the plane.
func (c *ControlPlane) commandOf(ctx context.Context, name string) (args, env []string, err error) {
	status, err := c.fleet.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, plane := range status.Planes {
		for _, process := range plane.Processes {
			if plane.Name != c.name || process.Name != name {
				continue
			}
			args, err = readStrings(fmt.Sprintf("/proc/%d/cmdline", process.PID))
			if err != nil {
				return nil, nil, err
			}
			env, err = readStrings(fmt.Sprintf("/proc/%d/environ", process.PID))
			return args, env, err
		}
	}
	return nil, nil, fmt.Errorf("%s has no process %s", c.name, name)
}

// readStrings reads texts that end with a zero byte.
func readStrings(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return strings.Split(string(bytes.TrimSuffix(data, []byte{0})), "\x00"), nil
}
