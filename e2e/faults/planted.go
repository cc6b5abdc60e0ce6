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

// plantedEnv is the environment variable that activates a planted bug in the special build.
const plantedEnv = "TOWLINE_PLANTED"

// A Planted bug is the replacement of a text in a source file. The bug loses data only at a fault.
type Planted struct {
	// Name is the value of plantedEnv that activates the bug, and Loses describes the loss.
	Name, Loses string

	file, from, to string

	// flow and kind are the flow and the fault with a permanent loss.
	flow string
	kind Kind
}

const (
	writesFile = "controllers/internal/hub/work.go"
	applyFile  = "controllers/propagation/apply.go"
	statusFile = "controllers/status/controller.go"
)

// PlantedBugs are the bugs in the build of BuildPlanted.
var PlantedBugs = []Planted{
	{
		Name: "shown", Loses: "an error of the last write of an Application is taken for success: its finalizer stays",
		file: applyFile, flow: "delete", kind: Failed,
		from: "		case client.IgnoreNotFound(err) != nil:\n			return loop.Done, err\n",
		to: "		case client.IgnoreNotFound(err) != nil && planted(\"shown\"):\n			return loop.Done, nil\n" +
			"		case client.IgnoreNotFound(err) != nil:\n			return loop.Done, err\n",
	},
	{
		Name: "conflict", Loses: "a write that has met a conflict is not made again", file: writesFile, flow: "change", kind: Conflict,
		from: "	case apierrors.IsConflict(err):\n",
		to:   "	case apierrors.IsConflict(err) && planted(\"conflict\"):\n		return Written, nil\n	case apierrors.IsConflict(err):\n",
	},
	{
		Name: "gone", Loses: "what is told to be too old is taken for gone", file: writesFile, flow: "change", kind: Expired,
		from: "	case w.Verb != work.VerbCreate && apierrors.IsNotFound(err):\n",
		to: "	case planted(\"gone\") && (apierrors.IsGone(err) || apierrors.IsResourceExpired(err)):\n		return Written, nil\n" +
			"	case w.Verb != work.VerbCreate && apierrors.IsNotFound(err):\n",
	},
	{
		Name: "again", Loses: "a work whose making was not answered is made under another name too",
		file: writesFile, flow: "create", kind: Lost,
		from: "	switch {\n	case w.Verb == work.VerbCreate && apierrors.IsAlreadyExists(err):",
		to: "	if planted(\"again\") && w.Verb == work.VerbCreate && apierrors.IsTimeout(err) {\n" +
			"		w.Work.Name += \"-again\"\n		return Written, c.Create(ctx, w.Work)\n	}\n" +
			"	switch {\n	case w.Verb == work.VerbCreate && apierrors.IsAlreadyExists(err):",
	},
	{
		Name: "status", Loses: "a status that could not be written is not written again", file: statusFile, flow: "change", kind: Failed,
		from: "	return ctrl.Result{}, client.IgnoreNotFound(err)\n}\n\n// speaksFor",
		to:   "	if planted(\"status\") {\n		return ctrl.Result{}, nil\n	}\n	return ctrl.Result{}, client.IgnoreNotFound(err)\n}\n\n// speaksFor",
	},
}

// switches is the additional source file of a package with planted bugs.
const switches = `package %s

import "os"

func planted(name string) bool { return os.Getenv(%q) == name }
`

// Points returns the points for a planted bug: its fault at each write of its flow. At most writes, the next event
// repairs the loss. After the last write of a flow, no further event comes.
func (b *Planted) Points(g *Gate) []Point {
	var out []Point
	for n := range len(g.references[b.flow].Writes) + 1 {
		out = append(out, Point{Flow: b.flow, Faults: []Fault{{b.kind, n + 1}}})
	}
	return out
}

// BuildPlanted builds Towline with all planted bugs, each behind its switch, into a file in dir. The checkout stays
// unchanged: the compiler reads the changed files from a separate folder.
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
