package fleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// repoServer is the program of Argo CD that reads repositories.
const repoServer = "argocd-repo-server"

// clones returns the folder with the clones of the plane's repo server.
func (c *ControlPlane) clones() string {
	return filepath.Join(c.fleet.paths.data(c.name), "home-"+repoServer, "_argocd-repo")
}

// EmptyRepoServer restarts the repo server of the plane's Argo CD without its clones. The answers in Redis stay.
func (c *ControlPlane) EmptyRepoServer(ctx context.Context) error {
	if err := c.StopProcess(ctx, repoServer); err != nil {
		return err
	}
	return errors.Join(removeAll(c.clones()), c.StartProcess(ctx, repoServer))
}

// Clones returns the addresses of the repositories that the repo server of the plane's Argo CD has cloned. Only root can
// read the clones: the repo server removes its own permissions.
func (c *ControlPlane) Clones() ([]string, error) {
	dirs, err := os.ReadDir(c.clones())
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range dirs {
		config, err := os.ReadFile(filepath.Join(c.clones(), dir.Name(), ".git", "config"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // about to be cloned
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(config)) {
			if address, ok := strings.CutPrefix(strings.TrimSpace(line), "url = "); ok {
				out = append(out, address)
			}
		}
	}
	return out, nil
}
