package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticks is the number of clock ticks for a second of CPU time in Linux, on all platforms of Go.
const ticks = 100

// postgres is the database process' name in results.
const postgres = "postgres"

// consumed returns the CPU time of a process in seconds, and its memory in MiB. PostgreSQL has many processes. Their
// shared memory is counted once.
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

// consumedByFamily returns the sums of a process and its children. Ended children count too.
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

// cpuSeconds returns the CPU time of a process in seconds.
func cpuSeconds(pid int) (float64, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	return seconds(fields[11:13])
}

// statOf returns the fields of /proc/<pid>/stat after the process' name.
func statOf(pid int) ([]string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name, in parentheses, may contain any character.
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])), err
}

// seconds returns the sum of clock ticks in seconds.
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

// memoryMiB reads a line of a process' memory file, in MiB. In status, VmRSS is the current resident memory, and VmHWM
// the peak. In smaps_rollup, Pss is the memory with only the process' share of memory used by several processes.
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

// machineSeconds returns the CPU time of all processes on the machine in seconds.
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
		// Idle time, waits for a disk, and guest time (counted as user time already) are left out.
		if i != 3 && i != 4 && i < 8 {
			busy += n
		}
	}
	return busy / ticks, nil
}
