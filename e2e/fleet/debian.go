package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// debianProgram returns the path of a program of a Debian package. It is for programs without a Go module. Some
// packages keep programs off PATH, so the folders are searched too. Of several versions, the last in sort order is
// taken.
func debianProgram(name, pkg string, folders ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, name))
		if err == nil && len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return "", fmt.Errorf("%s is missing: install Debian's package %s", name, pkg)
}

// configFile writes a configuration into a folder of the plane, and returns the path of the file.
func (p *plane) configFile(folder, name, config string) (string, error) {
	dir, err := p.dir(folder)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, []byte(config), 0o600)
}

// unprivileged returns the command line for a program that refuses to run as root. If this process is root, the program
// runs in a user namespace as nobody: it can access root's files, but has no rights of root. The program keeps the pid,
// and can be ended like every process.
func unprivileged(path string, args ...string) (string, []string) {
	if os.Geteuid() != 0 {
		return path, args
	}
	const nobody = "65534"
	return "unshare", append([]string{"--user", "--map-user=" + nobody, "--map-group=" + nobody, path}, args...)
}
