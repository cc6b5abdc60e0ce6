package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/towline-io/towline/e2e/towline"
)

// plantedEnv names the environment variable by which a planted bug is switched on, in the build that has them.
const plantedEnv = "TOWLINE_PLANTED"

// A Planted bug is one text of a source file in the place of another. It loses something when something fails, and nothing
// otherwise.
type Planted struct {
	// Name is what plantedEnv says to switch it on, and Loses what is lost then.
	Name, Loses string

	file, from, to string

	// kind is the fault at which it loses something.
	kind Kind
}

const (
	writesFile = "controllers/internal/works/works.go"
	applyFile  = "controllers/propagation/apply.go"
	statusFile = "controllers/status/controller.go"
)

// PlantedBugs are those of the build that BuildPlanted makes.
var PlantedBugs = []Planted{
	{
		Name: "swallowed", Loses: "an error of a work's write is taken for success", file: applyFile, kind: Failed,
		from: "	case err != nil:\n		return loop.Done, err\n	case met.conflict:",
		to:   "	case err != nil:\n		if !planted(\"swallowed\") {\n			return loop.Done, err\n		}\n		return loop.Done, nil\n	case met.conflict:",
	},
	{
		Name: "conflict", Loses: "a write that has met a conflict is not made again", file: writesFile, kind: Conflict,
		from: "	case apierrors.IsConflict(err):\n",
		to:   "	case apierrors.IsConflict(err) && planted(\"conflict\"):\n		return Written, nil\n	case apierrors.IsConflict(err):\n",
	},
	{
		Name: "gone", Loses: "what is told to be too old is taken for gone", file: writesFile, kind: Expired,
		from: "	case w.Verb != work.VerbCreate && apierrors.IsNotFound(err):\n",
		to: "	case planted(\"gone\") && (apierrors.IsGone(err) || apierrors.IsResourceExpired(err)):\n		return Written, nil\n" +
			"	case w.Verb != work.VerbCreate && apierrors.IsNotFound(err):\n",
	},
	{
		Name: "again", Loses: "a work whose making was not answered is made under another name too",
		file: writesFile, kind: Lost,
		from: "	switch {\n	case w.Verb == work.VerbCreate && apierrors.IsAlreadyExists(err):",
		to: "	if planted(\"again\") && w.Verb == work.VerbCreate && apierrors.IsTimeout(err) {\n" +
			"		w.Work.Name += \"-again\"\n		return Written, c.Create(ctx, w.Work)\n	}\n" +
			"	switch {\n	case w.Verb == work.VerbCreate && apierrors.IsAlreadyExists(err):",
	},
	{
		Name: "status", Loses: "a status that could not be written is not written again", file: statusFile, kind: Failed,
		from: "	return ctrl.Result{}, client.IgnoreNotFound(err)\n}\n\n// speaksFor",
		to:   "	if planted(\"status\") {\n		return ctrl.Result{}, nil\n	}\n	return ctrl.Result{}, client.IgnoreNotFound(err)\n}\n\n// speaksFor",
	},
}

// switches is what a package with planted bugs has besides.
const switches = `package %s

import "os"

func planted(name string) bool { return os.Getenv(%q) == name }
`

// plantedFlows are the flows in which planted bugs are looked for.
var plantedFlows = []string{"change", "change-twice", "pause", "release"}

// Points are those that are to find a planted bug: its fault at each write of some flows. What is lost at most of them is made up
// for by the next event; the last write of a change is not.
func (b *Planted) Points(g *Gate) []Point {
	var out []Point
	for _, flow := range plantedFlows {
		r := g.references[flow]
		if r == nil {
			continue
		}
		for n := 1; n <= len(r.writes)+1; n++ {
			out = append(out, Point{Flow: flow, Faults: []Fault{{b.kind, n}}})
		}
	}
	return out
}

// BuildPlanted builds Towline with all planted bugs, each behind its switch, into a file in dir. The checkout is left alone: the
// compiler reads the changed files from elsewhere.
func BuildPlanted(ctx context.Context, dir string) (string, error) {
	replaced := map[string]string{}
	sources := map[string]string{}
	for _, b := range PlantedBugs {
		path := filepath.Join(towline.Root(), b.file)
		if sources[path] == "" {
			data, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			sources[path] = string(data)
		}
		if strings.Count(sources[path], b.from) != 1 {
			return "", fmt.Errorf("planted bug %s: %s does not have its text once:\n%s", b.Name, b.file, b.from)
		}
		sources[path] = strings.Replace(sources[path], b.from, b.to, 1)
		sources[filepath.Join(filepath.Dir(path), "planted.go")] = fmt.Sprintf(switches, filepath.Base(filepath.Dir(path)), plantedEnv)
	}
	for path, source := range sources {
		to := filepath.Join(dir, fmt.Sprintf("planted-%d.go", len(replaced)))
		if err := os.WriteFile(to, []byte(source), 0o600); err != nil {
			return "", err
		}
		replaced[path] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "towline-planted")
	if err := towline.Compile(ctx, "towline", binary, "-overlay", file); err != nil {
		return "", fmt.Errorf("with planted bugs: %w", err)
	}
	return binary, nil
}
