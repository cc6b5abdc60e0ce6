package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// debianProgram finds a program that no Go module has and a package of Debian brings. Some packages keep their
// programs off PATH; of several versions the one that sorts last is taken.
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
	return "", fmt.Errorf("there is no %s here: install Debian's package %s", name, pkg)
}

// configFile writes a configuration into a folder of the plane, and gives the path of the file.
func (p *plane) configFile(folder, name, config string) (string, error) {
	dir, err := p.dir(folder)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	return file, os.WriteFile(file, []byte(config), 0o600)
}

// unprivileged gives the command line by which a program runs that refuses to run as root. Where this process is root,
// the program is in a user namespace in which root's files are nobody's: it has root's files and no rights of root.
// It keeps the process number, so it ends as any other.
func unprivileged(path string, args ...string) (string, []string) {
	if os.Geteuid() != 0 {
		return path, args
	}
	const nobody = "65534"
	return "unshare", append([]string{"--user", "--map-user=" + nobody, "--map-group=" + nobody, path}, args...)
}
