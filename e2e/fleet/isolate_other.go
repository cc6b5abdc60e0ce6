//go:build !linux

package fleet

import (
	"context"
	"errors"
)

// A Netns is a network namespace. Only Linux has network namespaces.
type Netns struct{}

// Command returns the arguments unchanged.
func (n *Netns) Command(path string, args ...string) (string, []string) { return path, args }

// IsolateRepoServer returns an error.
func (c *ControlPlane) IsolateRepoServer(context.Context, ...string) (*Netns, func(context.Context) error, error) {
	return nil, nil, errors.New("network namespaces exist only on Linux")
}
