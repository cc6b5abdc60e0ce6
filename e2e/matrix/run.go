package matrix

import (
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// VersionsEntry is the name of the entry of a report with the Run.
const VersionsEntry = "versions of the fleet"

// LongLabel marks a long spec, and MaestroLabel marks a spec that needs works in Maestro.
const (
	LongLabel    = "long"
	MaestroLabel = "maestro"
)

// A Run says which versions a run of the suite had.
type Run struct {
	End      End
	Versions map[string]fleet.Versions
}

// An End is the name of an end of the supported versions in reports, records and marks of the page.
type End string

// Ends are the ends in the order of the page.
var Ends = []End{"default", "oldest", "newest"}

// NameOf returns the name of an end of a fleet.
func NameOf(end fleet.End) End {
	if end == "" {
		return Ends[0]
	}
	return End(end)
}

// Clusters returns the names of the managed clusters in the suite's fleet.
func Clusters() []string { return fleet.ClusterNames(3) }

// planned returns the versions that the suite's fleet has at present.
func (e End) planned() (map[string]fleet.Versions, error) {
	end := fleet.End(e)
	if e == Ends[0] {
		end = ""
	}
	return fleet.PlannedVersions(end, Clusters())
}

// command returns the command that runs the suite with the versions of the end.
func (e End) command() string {
	if e == Ends[0] {
		return "make e2e"
	}
	return "make e2e-" + string(e)
}

// lacks separates the program and the feature in the message of a skipped spec.
const lacks = " lacks: "

// Lacks returns the message of a spec that does not run, because a program of the fleet is too old for the tested feature.
func Lacks(program, feature string) string { return program + lacks + feature }

// lackOf returns the program and the feature in a message of Lacks.
func lackOf(message string) (l Lack, ok bool) {
	l.Program, l.Feature, ok = strings.Cut(message, lacks)
	return l, ok
}
