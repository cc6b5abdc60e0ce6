package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Done is a file of the points that have been run, so that a long run can be made in pieces. Each line says the point, whether all
// its faults were met, and whether it has ended as it has to. The last line of a point counts.
type Done struct {
	file *os.File
	of   map[string]outcome
}

// outcome is what became of a point.
type outcome struct{ met, failed bool }

// OpenDone reads a file of points, and makes it where there is none.
func OpenDone(path string) (*Done, error) {
	d := &Done{of: map[string]outcome{}}
	if err := d.read(path); err != nil {
		return nil, err
	}
	var err error
	d.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return d, err
}

func (d *Done) read(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return lines.Err()
		}
		var name string
		var e outcome
		if _, err := fmt.Sscanf(lines.Text(), "%s met=%t failed=%t", &name, &e.met, &e.failed); err != nil {
			return fmt.Errorf("%s: line %q: %w", path, lines.Text(), err)
		}
		d.of[name] = e
	}
}

// Note adds a result at once: a run that is cut off keeps what it has done.
func (d *Done) Note(r Result) error {
	e := outcome{met: r.Reached, failed: r.Err != nil}
	d.of[r.Point.String()] = e
	_, err := fmt.Fprintf(d.file, "%s met=%t failed=%t\n", r.Point.String(), e.met, e.failed)
	return err
}

// Passed tells whether a point has ended as it has to. One that failed is run again.
func (d *Done) Passed(p Point) bool {
	e, is := d.of[p.String()]
	return is && !e.failed
}

// Sum is how many points have been run in all pieces, how many have met their faults, and how many fail.
func (d *Done) Sum() (points, met, failed int) {
	for _, e := range d.of {
		points++
		if e.met {
			met++
		}
		if e.failed {
			failed++
		}
	}
	return points, met, failed
}

// Close ends it.
func (d *Done) Close() error { return d.file.Close() }
