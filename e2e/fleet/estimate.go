package fleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// coldSeconds are the times of the programs in a build on two cores, without any compiled package. The times of the oldest and
// the newest Kubernetes and of the oldest OCM are estimates.
var coldSeconds = map[string]float64{
	"fleet": 420, "argocd": 310,
	"kube-apiserver": 240, "kube-controller-manager": 60, "kube-scheduler": 30,
	"work": 120, "placement": 15, "registration": 60, "addon": 15,
}

// unknownSeconds is the time of a program without a measured time.
const unknownSeconds = 60

func secondsOf(prog program) float64 {
	if seconds, ok := coldSeconds[prog.name]; ok {
		return seconds
	}
	return unknownSeconds
}

// An estimate predicts the time until the missing programs are built.
type estimate struct {
	left, done float64 // expected seconds of the missing parts, and of the parts that this build built
	spent      time.Duration
}

// newEstimate returns the estimate for the programs that are missing in the cache.
func (b *Builder) newEstimate(sets []programSet) (*estimate, error) {
	e := &estimate{}
	for _, set := range sets {
		folder, err := b.folderOf(set)
		if err != nil {
			return nil, err
		}
		for _, prog := range set.programs {
			if _, err := os.Stat(filepath.Join(folder, prog.name)); err != nil {
				e.left += secondsOf(prog)
			}
		}
	}
	return e, nil
}

// built notes that a part is built that was expected to take the given seconds.
func (e *estimate) built(seconds float64, took time.Duration) {
	e.left = max(0, e.left-seconds)
	e.done += seconds
	e.spent += took
}

// remaining returns the predicted time. The parts of this build correct the speed of the machine. The first packages say
// little about the speed, so the expected speed counts as a minute.
func (e *estimate) remaining() time.Duration {
	const minute = 60
	speed := (e.spent.Seconds() + minute) / (e.done + minute)
	return time.Duration(e.left * speed * float64(time.Second))
}

func (e *estimate) String() string {
	left := e.remaining()
	if left < time.Minute {
		return "less than a minute left"
	}
	return fmt.Sprintf("about %.0f min left", left.Minutes())
}

// A compilation follows the packages of a program on the standard error of `go build -v`, and prints a line about the
// progress from time to time.
type compilation struct {
	*estimate
	progress io.Writer
	name     string

	all, missing, compiled int     // packages of the program, packages that Go's build cache lacked, and compiled packages
	seconds                float64 // expected seconds of a package
	last, news             time.Time
	text                   bytes.Buffer // the standard error
}

// newsPeriod is the time between two lines about a program.
const newsPeriod = 20 * time.Second

// newCompilation counts the packages of a program, and the packages that Go's build cache lacks. The cache keeps the
// packages of an interrupted build, so the next build continues there.
func newCompilation(ctx context.Context, source string, flags []string, prog program, e *estimate) (*compilation, error) {
	args := append([]string{"list", "-deps", "-f", "{{.Stale}}"}, append(flags, prog.pkg)...)
	out, err := goCommand(ctx, source, args...)
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s in %s: %w\n%s", prog.name, source, err, out)
	}
	c := &compilation{estimate: e, name: prog.name, all: strings.Count(out, "\n") + 1, missing: strings.Count(out, "true")}
	c.seconds = secondsOf(prog) / float64(c.all)
	c.left -= c.seconds * float64(c.all-c.missing)
	c.last, c.news = time.Now(), time.Now()
	return c, nil
}

// Write counts the lines: each line is the name of a package.
func (c *compilation) Write(data []byte) (int, error) {
	c.text.Write(data)
	for range bytes.Count(data, []byte("\n")) {
		c.built(c.seconds, time.Since(c.last))
		c.compiled, c.last = c.compiled+1, time.Now()
	}
	if time.Since(c.news) >= newsPeriod {
		c.news = time.Now()
		fmt.Fprintf(c.progress, "building %s: %v\n", c.name, c)
	}
	return len(data), nil
}

func (c *compilation) String() string {
	return fmt.Sprintf("%d of %d packages, %v", c.all-c.missing+c.compiled, c.all, c.estimate)
}
