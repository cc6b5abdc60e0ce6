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

// A ProcessRef names one run of a process: a pid alone may be somebody else's by now.
type ProcessRef struct {
	PID int `json:"pid"`
	// Born is the process's start time as the kernel counts it.
	Born string `json:"born"`
}

// refOf describes a process that runs now.
func refOf(pid int) (ProcessRef, error) {
	born, err := birth(pid)
	return ProcessRef{PID: pid, Born: born}, err
}

// Alive says whether that very run of the process still runs.
func (r ProcessRef) Alive() bool {
	if r.PID <= 0 || r.Born == "" {
		return false
	}
	born, err := birth(r.PID)
	return err == nil && born == r.Born
}

// kill ends the process and its group, if it is still the same one.
func (r ProcessRef) kill() error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(-r.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending process %d: %w", r.PID, err)
	}
	return nil
}

// birth gives the start time of a process, or an error if there is none or it is a zombie.
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

// birthFromStat reads field 22 of /proc/<pid>/stat. Field 2 is the program's name in parentheses and may
// hold anything, so counting starts behind it.
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

// residentKB is the memory that a process holds, or 0 where that cannot be told.
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
