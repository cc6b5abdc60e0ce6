package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	mebi = 1 << 20

	// memoryNeed is for a hub and two clusters, which use 3.5 GiB after the start, and for their users.
	memoryNeed = 4096 * mebi

	// The ports of a fleet are in blocks: see e2e/fleet/ports.go.
	firstPort, lastPort, portsBlock = 12000, 29999, 100
)

// A need is a missing part of the machine.
type need struct{ lack, remedy string }

// A folder is a folder that a fleet fills, and the space for the new files.
type folder struct {
	path, variable string // the variable moves the folder
	space          uint64
}

// A machine answers questions about a machine. Tests replace the answers.
type machine struct {
	folders []folder
	// hasProgram returns whether a program is on PATH or in a folder.
	hasProgram func(name, folder string) bool
	// checkGo returns an error if Go is too old for the fleet's program.
	checkGo func() error
	// free returns the disk with a folder, and the free space of the disk.
	free func(path string) (disk, space uint64, err error)
	// memory returns the available memory, or false on a system without an answer.
	memory func() (uint64, bool)
	// listen returns an error if a port of 127.0.0.1 is in use.
	listen func(port int) error
}

// lacks returns all missing needs for a fleet.
func (m *machine) lacks(transport string) []need {
	return slices.Concat(m.lacksPrograms(transport), m.lacksMemory(), m.lacksSpace(), m.lacksPorts())
}

func (m *machine) lacksPrograms(transport string) (out []need) {
	programs := []struct{ name, folder, pkg string }{{"git", "", "git"}}
	if transport == "maestro" {
		programs = append(programs, []struct{ name, folder, pkg string }{
			{"initdb", "/usr/lib/postgresql/*/bin", "postgresql"}, {"mosquitto", "/usr/sbin", "mosquitto"},
		}...)
	}
	for _, p := range programs {
		if !m.hasProgram(p.name, p.folder) {
			out = append(out, need{"the program " + p.name, "install the package " + p.pkg + ", on Debian with: sudo apt-get install " + p.pkg})
		}
	}
	if err := m.checkGo(); err != nil {
		out = append(out, need{"a newer Go (" + err.Error() + ")", "install the newest Go from https://go.dev/dl, or set GOTOOLCHAIN=auto"})
	}
	return out
}

func (m *machine) lacksMemory() []need {
	available, ok := m.memory()
	if !ok || available >= memoryNeed {
		return nil
	}
	return []need{{
		fmt.Sprintf("%s of available memory: %s are available", size(memoryNeed), size(available)),
		"end other programs, or give the machine more memory",
	}}
}

// lacksSpace adds the folders of each disk up.
func (m *machine) lacksSpace() (out []need) {
	type total struct {
		needed, free     uint64
		paths, variables []string
	}
	var order []uint64
	disks := map[uint64]*total{}
	for _, f := range m.folders {
		disk, free, err := m.free(f.path)
		if err != nil {
			out = append(out, need{fmt.Sprintf("the folder %s (%v)", f.path, err), "create the folder, or set " + f.variable + " to another folder"})
			continue
		}
		if disks[disk] == nil {
			disks[disk] = &total{free: free}
			order = append(order, disk)
		}
		d := disks[disk]
		d.needed += f.space
		d.paths, d.variables = append(d.paths, f.path), append(d.variables, f.variable)
	}
	for _, disk := range order {
		if d := disks[disk]; d.free < d.needed {
			out = append(out, need{
				fmt.Sprintf("%s of disk space for %s: %s are free", size(d.needed), strings.Join(d.paths, ", "), size(d.free)),
				"remove files, or set these variables to folders on another disk: " + strings.Join(d.variables, ", "),
			})
		}
	}
	return out
}

func (m *machine) lacksPorts() []need {
	var err error
	for first := firstPort; first < lastPort; first += portsBlock {
		if err = m.listen(first); err == nil {
			return nil
		}
	}
	return []need{{
		fmt.Sprintf("free ports of 127.0.0.1 from %d to %d (%v)", firstPort, lastPort, err),
		"end programs with such ports: ss -ltnp lists them",
	}}
}

func size(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/1024/mebi) }
