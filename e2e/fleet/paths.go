package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// paths is the layout of a state directory.
type paths struct{ root string }

func (p paths) state() string           { return filepath.Join(p.root, "state.json") }
func (p paths) lock() string            { return filepath.Join(p.root, "fleet.lock") }
func (p paths) logs() string            { return filepath.Join(p.root, "logs") }
func (p paths) log(title string) string { return filepath.Join(p.logs(), title+".log") }
func (p paths) bin() string             { return filepath.Join(p.root, "bin") }
func (p paths) kubeconfig(name string) string {
	return filepath.Join(p.root, "kubeconfig", name+".yaml")
}
func (p paths) git() string              { return filepath.Join(p.root, "git") }
func (p paths) pki(plane string) string  { return filepath.Join(p.root, "pki", plane) }
func (p paths) data(plane string) string { return filepath.Join(p.root, "data", plane) }

// socket returns the path of the control socket. The kernel permits about a hundred characters. For a long state
// directory, the socket is therefore in the folder for temporary files.
func (p paths) socket() string {
	path := filepath.Join(p.root, "control.sock")
	if len(path) < 100 {
		return path
	}
	return filepath.Join(os.TempDir(), "towline-fleet-"+p.id()+".sock")
}

// id identifies the fleet of the state directory among the fleets of the machine.
func (p paths) id() string {
	sum := sha256.Sum256([]byte(p.root))
	return hex.EncodeToString(sum[:8])
}

// netns returns the name of the network namespace of a cluster. All fleets of the machine share the names of network
// namespaces.
func (p paths) netns(cluster string) string { return "towline-" + p.id() + "-" + cluster }

// leftovers returns the folders that a fleet fills. The logs are not among them: they stay until the next start.
func (p paths) leftovers() []string {
	var dirs []string
	for _, name := range []string{"data", "git", "pki", "kubeconfig", "bin"} {
		dirs = append(dirs, filepath.Join(p.root, name))
	}
	return dirs
}

func (p paths) create() error {
	for _, dir := range append(p.leftovers(), p.logs()) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes a folder, even if a program has removed the permissions for the removal. Argo CD's repo server does
// so with its clones.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && entry != nil && entry.IsDir() {
			return os.Chmod(path, 0o700) // the walk reads the folder on the next round
		}
		return nil
	})
	return os.RemoveAll(dir)
}
