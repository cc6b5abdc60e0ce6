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

// Done is a file of the points that have been run, so that a long run can be made in pieces. Each line says the point, whether all
// its faults were met, and whether it has ended as it has to. The last line of a point counts. Other lines say how a flow ends without
// a fault. So a file is of one state of Towline's sources: after a change, begin another.
type Done struct {
	file       *os.File
	of         map[string]outcome
	references map[string]*reference
}

// refers is what lines begin with that say how a flow ends without a fault, as JSON behind the flow's name.
const refers = "reference "

// outcome is what became of a point.
type outcome struct{ met, failed bool }

// OpenDone reads a file of points, and makes it where there is none.
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

// line reads one.
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

// Refer has a gate know how flows end without a fault: those of which the file says it are not run again, and it is to say the others too.
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
