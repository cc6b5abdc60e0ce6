package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
)

// Done is a file of finished points, so that a long run can be split into pieces. Each line contains a point, whether
// all its faults were met, and whether the point passed. The last line of a point counts. Further lines contain the
// ends of flows without a fault. A file belongs to one state of Towline's sources: after a change, begin a new file.
type Done struct {
	file       *os.File
	of         map[string]outcome
	references map[string]*reference
}

// refers is the prefix of lines with the end of a flow without a fault: the flow's name and JSON.
const refers = "reference "

// outcome is the result of a point.
type outcome struct{ met, failed bool }

// OpenDone reads a file of points, and creates a missing file.
func OpenDone(path string) (*Done, error) {
	d := &Done{of: map[string]outcome{}, references: map[string]*reference{}}
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
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if err := d.line(lines.Text()); err != nil {
			return fmt.Errorf("%s: line %.200q: %w", path, lines.Text(), err)
		}
	}
	return lines.Err()
}

// line parses a line of the file.
func (d *Done) line(text string) error {
	if text, is := strings.CutPrefix(text, refers); is {
		name, end, _ := strings.Cut(text, " ")
		d.references[name] = &reference{}
		return json.Unmarshal([]byte(end), d.references[name])
	}
	var name string
	var e outcome
	if _, err := fmt.Sscanf(text, "%s met=%t failed=%t", &name, &e.met, &e.failed); err != nil {
		return err
	}
	d.of[name] = e
	return nil
}

// Refer gives a gate the known ends of flows without a fault. The gate runs only the other flows, and Refer adds their
// ends to the file.
func (d *Done) Refer(ctx context.Context, g *Gate, flows []string) error {
	maps.Copy(g.references, d.references)
	failed := g.Refer(ctx, flows)
	for name, r := range g.references {
		if d.references[name] != nil {
			continue
		}
		end, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(d.file, "%s%s %s\n", refers, name, end); err != nil {
			return err
		}
	}
	return failed
}

// Note writes a result to the file at once. An interrupted run therefore keeps the results so far.
func (d *Done) Note(r Result) error {
	e := outcome{met: r.Reached, failed: r.Err != nil}
	d.of[r.Point.String()] = e
	_, err := fmt.Fprintf(d.file, "%s met=%t failed=%t\n", r.Point.String(), e.met, e.failed)
	return err
}

// Passed reports whether a point has passed. A failed point runs again.
func (d *Done) Passed(p Point) bool {
	e, is := d.of[p.String()]
	return is && !e.failed
}

// Sum returns the numbers of points, of points with all faults met, and of failed points, over all pieces.
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

// Close closes the file.
func (d *Done) Close() error { return d.file.Close() }
