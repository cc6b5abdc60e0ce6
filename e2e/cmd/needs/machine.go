package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// thisMachine returns the answers of the machine of this process, which runs in the folder e2e.
func thisMachine() (*machine, error) {
	folders, err := foldersOf()
	if err != nil {
		return nil, err
	}
	return &machine{folders: folders, hasProgram: hasProgram, checkGo: checkGo, free: free, memory: memory, listen: listen}, nil
}

// foldersOf returns the folders that the first start fills. If the fleet's program is built, the folders need little space.
func foldersOf() ([]folder, error) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	caches := strings.Fields(string(out))
	if len(caches) != 2 {
		return nil, fmt.Errorf("go env GOCACHE GOMODCACHE printed %q", out)
	}
	programs := os.Getenv("TOWLINE_CACHE")
	if programs == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		programs = filepath.Join(user, "towline")
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		return nil, err
	}
	folders := []folder{
		{caches[0], "GOCACHE", 512 * mebi}, {caches[1], "GOMODCACHE", 0}, {programs, "TOWLINE_CACHE", 0},
		{checkout, "TOWLINE_FLEET_DIR", 512 * mebi},
	}
	if built, _ := filepath.Glob(filepath.Join(programs, "fleet-*", "fleet")); len(built) == 0 {
		folders[0].space, folders[1].space, folders[2].space = 4608*mebi, 2048*mebi, 512*mebi
	}
	return folders, nil
}

func hasProgram(name, folder string) bool {
	if _, err := exec.LookPath(name); err == nil {
		return true
	}
	found, err := filepath.Glob(filepath.Join(folder, name))
	return folder != "" && err == nil && len(found) > 0
}

// checkGo lists a module: Go then compares its own version with the version in go.mod.
func checkGo() error {
	out, err := exec.Command("go", "-C", programsModule(), "list", "-m").CombinedOutput()
	if err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}

// free answers for the nearest folder that exists, because the caches may be missing before the first start.
func free(path string) (disk, space uint64, err error) {
	info, err := os.Stat(path)
	for errors.Is(err, os.ErrNotExist) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
	if err != nil {
		return 0, 0, err
	}
	var system syscall.Statfs_t
	if err := syscall.Statfs(path, &system); err != nil {
		return 0, 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, errors.New("the system does not name the disk")
	}
	return uint64(stat.Dev), system.Bavail * uint64(system.Bsize), nil //nolint:unconvert // other types on macOS
}

// memory reads Linux's estimate, and the limit of a container.
func memory() (uint64, bool) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "MemAvailable:" {
			continue
		}
		kibi, err := strconv.ParseUint(fields[1], 10, 64)
		available := kibi * 1024
		if text, limitErr := os.ReadFile("/sys/fs/cgroup/memory.max"); limitErr == nil {
			if limit, parseErr := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); parseErr == nil { // "max" without a limit
				available = min(available, limit)
			}
		}
		return available, err == nil
	}
	return 0, false
}

func listen(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return listener.Close()
}
