package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks is how many clock ticks Linux counts a second of CPU time in, on every platform that Go runs on.
const ticks = 100

// cpuSeconds is the CPU time that a process has used.
func cpuSeconds(pid int) (float64, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may contain anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks, err
}

// memoryMiB reads a line of a process's account of its memory: VmRSS, or VmHWM for the most that it ever was.
func memoryMiB(pid int, line string) (float64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
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
