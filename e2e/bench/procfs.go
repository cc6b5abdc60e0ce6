package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticks is how many clock ticks Linux counts a second of CPU time in, on every platform that Go runs on.
const ticks = 100

// postgres is the process of the database, by its name in results.
const postgres = "postgres"

// consumed is the CPU time that a process has used, in seconds, and the memory that it takes, in MiB. PostgreSQL is many processes:
// they share memory, which is counted once.
func consumed(name string, pid int) (cpu, memory float64, err error) {
	if name == postgres {
		return consumedByFamily(pid)
	}
	if cpu, err = cpuSeconds(pid); err != nil {
		return 0, 0, err
	}
	memory, err = memoryMiB(pid, "status", "VmRSS")
	return cpu, memory, err
}

// consumedByFamily counts a process and its children, those that have ended included.
func consumedByFamily(pid int) (cpu, memory float64, err error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, 0, err
	}
	if cpu, err = seconds(fields[11:15]); err != nil {
		return 0, 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, 0, err
	}
	for _, child := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		id, err := strconv.Atoi(child)
		if err != nil {
			return 0, 0, err
		}
		mine, err := memoryMiB(id, "smaps_rollup", "Pss")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a child has ended meanwhile
		}
		if err != nil {
			return 0, 0, err
		}
		memory += mine
		if id == pid {
			continue
		}
		used, err := cpuSeconds(id)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, 0, err
		}
		cpu += used
	}
	return cpu, memory, nil
}

// cpuSeconds is the CPU time that a process has used.
func cpuSeconds(pid int) (float64, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	return seconds(fields[11:13])
}

// statOf are the fields of what Linux tells of a process, after its name.
func statOf(pid int) ([]string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name, in parentheses, may contain anything.
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])), err
}

// seconds adds up clock ticks.
func seconds(fields []string) (float64, error) {
	var sum float64
	for _, field := range fields {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum / ticks, nil
}

// memoryMiB reads a line of a process's account of its memory. In status: VmRSS, or VmHWM for the most that it ever was. In
// smaps_rollup: Pss, which has of memory that several processes share the part of this one.
func memoryMiB(pid int, file, line string) (float64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(l, line+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its %s", pid, line)
}

// machineSeconds is the CPU time that everything on the machine has used.
func machineSeconds() (float64, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	var busy float64
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		// Neither idle nor waiting for a disk, nor what is counted as user time already.
		if i != 3 && i != 4 && i < 8 {
			busy += n
		}
	}
	return busy / ticks, nil
}
