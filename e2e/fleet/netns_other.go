//go:build !linux

package fleet

import (
	"context"
	"errors"
)

// A netns is a network namespace. Only Linux has network namespaces.
type netns struct{}

func newNetns(context.Context, string) (*netns, error) {
	return nil, errors.New("network namespaces exist only on Linux")
}

func openNetns(name string) (*netns, error) { return newNetns(context.Background(), name) }

func (*netns) close() {}

func (*netns) remove() error { return nil }

func (*netns) command(path string, args ...string) (string, []string) { return path, args }

func (*netns) reach(...string) error { return nil }

func (*netns) serve(...string) error { return nil }

func (*netns) within(do func() error) error { return do() }
