package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// A report is the part of a Ginkgo report that becomes a record.
type report struct {
	Run
	began time.Time
	specs []spec
}

// A spec is a spec of the suite, and its result in a run.
type spec struct {
	name   string
	long   bool
	result result
	// reason is the message of a spec that was skipped.
	reason string
}

// A result is the result of a spec. The zero value means that a run did not try the spec.
type result int

const (
	notTried result = iota
	passed
	failed
	lacking
)

// read returns the reports in the files of a folder, from the oldest to the newest run.
func read(folder string) ([]report, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []report
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var reports []types.Report
		if err := json.Unmarshal(data, &reports); err != nil {
			return nil, fmt.Errorf("%s is no report of Ginkgo: %w", file, err)
		}
		for _, r := range reports {
			reduced, err := reduce(r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, reduced)
		}
	}
	slices.SortStableFunc(all, func(a, b report) int { return a.began.Compare(b.began) })
	return all, nil
}

// reduce returns the report of a run of the suite. Without a fleet, for example in a dry run, the report has no versions.
func reduce(r types.Report) (report, error) {
	out := report{began: r.StartTime.UTC()}
	seen := map[string]bool{}
	for _, s := range r.SpecReports {
		if s.LeafNodeType != types.NodeTypeIt {
			if err := out.readVersions(s.ReportEntries); err != nil {
				return out, err
			}
			continue
		}
		name := s.FullText()
		if seen[name] {
			return out, fmt.Errorf("two specs have the text %q", name)
		}
		seen[name] = true
		if !slices.Contains(s.Labels(), MaestroLabel) {
			out.specs = append(out.specs, specOf(name, s))
		}
	}
	slices.SortFunc(out.specs, func(a, b spec) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

func (r *report) readVersions(entries types.ReportEntries) error {
	for _, e := range entries {
		if e.Name == VersionsEntry {
			return json.Unmarshal([]byte(e.Value.AsJSON), &r.Run)
		}
	}
	return nil
}

func specOf(name string, s types.SpecReport) spec {
	out := spec{name: name, long: slices.Contains(s.Labels(), LongLabel)}
	_, isLack := lackOf(s.Failure.Message)
	switch {
	case s.State.Is(types.SpecStatePassed):
		out.result = passed
	case s.State.Is(types.SpecStateFailureStates):
		out.result = failed
	case s.State.Is(types.SpecStateSkipped) && isLack:
		out.result, out.reason = lacking, s.Failure.Message
	default:
		out.reason = s.Failure.Message
	}
	return out
}
