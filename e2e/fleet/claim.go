package fleet

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// claim makes this process the only process that runs a fleet in the state directory, and removes the leftovers of an
// earlier fleet.
func claim(dirs paths, say func(string, ...any)) (unlock func(), err error) {
	if err := checkStateDir(dirs); err != nil {
		return nil, err
	}
	unlock, err = tryLock(dirs.lock())
	if errors.Is(err, errLocked) {
		return nil, alreadyRunning(dirs)
	}
	if err != nil {
		return nil, err
	}
	if err := clearLeftovers(dirs, say); err != nil {
		unlock()
		return nil, err
	}
	return unlock, dirs.create()
}

// checkStateDir makes the state directory. It refuses a folder with other content, because a fleet removes data from
// its folder.
func checkStateDir(dirs paths) error {
	if err := os.MkdirAll(dirs.root, 0o755); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	entries, err := os.ReadDir(dirs.root)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if _, err := os.Stat(dirs.lock()); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and not a fleet's: give a new or empty folder with --dir", dirs.root)
	}
	return nil
}

func alreadyRunning(dirs paths) error {
	status, err := readState(dirs)
	if err != nil {
		return fmt.Errorf("another fleet is starting in %s: wait for it, or give another --dir", dirs.root)
	}
	return fmt.Errorf("a fleet runs in %s already (process %d, since %s): look at it with `fleet status`, end it with "+
		"`fleet down`, or give another --dir", dirs.root, status.Supervisor.PID, status.Started.Format(time.DateTime))
}

// clearLeftovers ends the remaining processes of a killed fleet and removes its data: a fleet starts empty.
func clearLeftovers(dirs paths, say func(string, ...any)) error {
	status, err := readState(dirs)
	if errors.Is(err, os.ErrNotExist) {
		return removeState(dirs, true)
	}
	if err != nil {
		return err
	}
	alive := 0
	for _, p := range status.allProcesses() {
		if p.Alive() {
			alive++
			if err := p.kill(); err != nil {
				return err
			}
		}
	}
	say("found the data of a fleet of %s that was not stopped (%d of its processes were still running): cleared away",
		status.Started.Format(time.DateTime), alive)
	return removeState(dirs, true)
}

func (s Status) allProcesses() []ProcessStatus {
	var all []ProcessStatus
	for _, plane := range s.Planes {
		all = append(all, plane.Processes...)
	}
	return all
}

// removeState removes the files of a fleet. Without logs, the logs stay for a later look until the next start.
func removeState(dirs paths, logs bool) error {
	var errs []error
	for _, dir := range dirs.leftovers() {
		errs = append(errs, removeAll(dir))
	}
	if logs {
		errs = append(errs, removeAll(dirs.logs()))
	}
	for _, file := range []string{dirs.socket(), dirs.state()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
