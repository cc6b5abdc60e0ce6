package fleet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// A ProcessRef identifies a run of a process. The pid alone is not enough, because the kernel reuses pids.
type ProcessRef struct {
	PID int `json:"pid"`
	// Born is the start time of the process in the kernel's unit.
	Born string `json:"born"`
}

// refOf returns the reference of a running process.
func refOf(pid int) (ProcessRef, error) {
	born, err := birth(pid)
	return ProcessRef{PID: pid, Born: born}, err
}

// Alive returns whether this run of the process still runs.
func (r ProcessRef) Alive() bool {
	if r.PID <= 0 || r.Born == "" {
		return false
	}
	born, err := birth(r.PID)
	return err == nil && born == r.Born
}

// kill ends the process and its group, if this run still runs.
func (r ProcessRef) kill() error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(-r.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending process %d: %w", r.PID, err)
	}
	return nil
}

// birth returns the start time of a process. It is an error if the process does not exist or is a zombie.
func birth(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err == nil {
		return birthFromStat(string(stat))
	}
	if _, procErr := os.Stat("/proc/self/stat"); procErr == nil {
		return "", err
	}
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	return strings.TrimSpace(string(out)), err
}

// birthFromStat reads field 22 of /proc/<pid>/stat. Field 2 is the program's name in parentheses, with arbitrary
// characters, so the count starts behind it.
func birthFromStat(stat string) (string, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 20 {
		return "", fmt.Errorf("unexpected process status %q", stat)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", errors.New("the process has ended")
	}
	return fields[19], nil
}

// residentKB returns the resident memory of a process in KiB, or 0 if the value is unknown.
func residentKB(pid int) int {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(value)[0])
			return kb
		}
	}
	return 0
}
