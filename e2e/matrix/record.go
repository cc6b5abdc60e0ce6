package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// A Record has the merged results of all runs of an end.
type Record struct {
	End End `json:"end"`
	// From and To are the dates of the first and the last run.
	From string `json:"from"`
	To   string `json:"to"`
	// Versions are the versions by plane. All runs had these versions.
	Versions map[string]fleet.Versions `json:"versions"`
	Short    Results                   `json:"short"`
	Long     Results                   `json:"long"`
}

// Results are the results of the short or of the long specs. The names of the passed specs are left out, because all other
// lists are short after a whole run.
type Results struct {
	Specs    int      `json:"specs"`
	Passed   int      `json:"passed"`
	Failed   []string `json:"failed,omitempty"`
	Lacking  []Lack   `json:"lacking,omitempty"`
	NotTried []string `json:"notTried,omitempty"`
}

// A Lack is a feature that a program is too old for, with the specs of the feature.
type Lack struct {
	Program string   `json:"program"`
	Feature string   `json:"feature"`
	Specs   []string `json:"specs"`
}

// merge returns the record of reports from the oldest to the newest. The last run that tried a spec has the result of the spec.
// The last report has the list of the specs.
func merge(reports []report) Record {
	tried := map[string]spec{}
	for _, r := range reports {
		for _, s := range r.specs {
			if s.result != notTried {
				tried[s.name] = s
			}
		}
	}
	last := reports[len(reports)-1]
	out := Record{
		End: last.End, Versions: last.Versions,
		From: reports[0].began.Format("2006-01-02"), To: last.began.Format("2006-01-02"),
	}
	for _, s := range last.specs {
		if t, ok := tried[s.name]; ok {
			s.result, s.reason = t.result, t.reason
		}
		if s.long {
			out.Long.add(s)
		} else {
			out.Short.add(s)
		}
	}
	return out
}

func (r *Results) add(s spec) {
	r.Specs++
	switch s.result {
	case passed:
		r.Passed++
	case failed:
		r.Failed = append(r.Failed, s.name)
	case lacking:
		l, _ := lackOf(s.reason)
		l.Specs = []string{s.name}
		r.Lacking = withLack(r.Lacking, l)
	case notTried:
		if s.reason != "" {
			s.name += ": " + s.reason
		}
		r.NotTried = append(r.NotTried, s.name)
	}
}

// withLack adds the specs of a Lack to a list in the order of programs and features.
func withLack(list []Lack, l Lack) []Lack {
	i, found := slices.BinarySearchFunc(list, l, func(a, b Lack) int {
		return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Feature, b.Feature))
	})
	if found {
		list[i].Specs = append(list[i].Specs, l.Specs...)
		return list
	}
	return slices.Insert(list, i, l)
}

// lacking returns the number of specs that do not run, because a program lacks their feature.
func (r Results) lacking() (n int) {
	for _, l := range r.Lacking {
		n += len(l.Specs)
	}
	return n
}

// problems returns the reasons why a record may not stay in the repository. The argument has the versions of the present fleet.
func (r Record) problems(planned map[string]fleet.Versions) (found []string) {
	again := ": run `" + r.End.command() + "` again, then `make matrix`"
	for _, name := range slices.Concat(r.Short.Failed, r.Long.Failed) {
		found = append(found, fmt.Sprintf("%s: the spec %q failed%s", r.End, name, again))
	}
	if different := differences(r.Versions, planned); different != "" {
		found = append(found, fmt.Sprintf("%s: the record has other versions than the fleet: %s%s", r.End, different, again))
	}
	for _, part := range []Results{r.Short, r.Long} {
		if part.Specs != part.Passed+len(part.Failed)+part.lacking()+len(part.NotTried) {
			found = append(found, fmt.Sprintf("%s: the numbers of specs do not add up%s", r.End, again))
		}
	}
	if r.Short.Passed+r.Long.Passed == 0 {
		found = append(found, fmt.Sprintf("%s: no spec passed%s", r.End, again))
	}
	return found
}

// differences returns the planes whose versions in a run differ from the planned versions.
func differences(ran, planned map[string]fleet.Versions) string {
	planes := maps.Clone(planned)
	maps.Copy(planes, ran)
	var list []string
	for _, plane := range slices.Sorted(maps.Keys(planes)) {
		if ran[plane] != planned[plane] {
			list = append(list, fmt.Sprintf("%s had %+v, not %+v", plane, ran[plane], planned[plane]))
		}
	}
	return strings.Join(list, "; ")
}

// minutes is the form of the start of a run.
const minutes = "2006-01-02 15:04"

// file returns the path of the record of an end, below the root of the repository.
func (e End) file() string { return filepath.Join("e2e", "matrix", string(e)+".json") }

// Records returns the records of the repository in the folder root, in the order of Ends.
func Records(root string) (records []Record, err error) {
	for _, end := range Ends {
		data, err := os.ReadFile(filepath.Join(root, end.file()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var r Record
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", end.file(), err)
		}
		if r.End != end {
			return nil, fmt.Errorf("%s is a record of the end %q", end.file(), r.End)
		}
		records = append(records, r)
	}
	return records, nil
}

// Check returns the problems of the records of the repository in the folder root, as an error.
func Check(root string) error {
	records, err := Records(root)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range records {
		planned, err := r.End.planned()
		if err != nil {
			return err
		}
		for _, p := range r.problems(planned) {
			problems = append(problems, errors.New(p))
		}
	}
	return errors.Join(problems...)
}

// Update writes the records of all ends with reports in a folder. Update returns a sentence for each report that it leaves out:
// a report with other versions than the present fleet, and a report of a run without a fleet, because Ginkgo reports each spec
// of a dry run as passed. An end without a report keeps its record.
func Update(root, folder string) (leftOut []string, err error) {
	reports, err := read(folder)
	if err != nil {
		return nil, err
	}
	if len(reports) == 0 {
		return nil, fmt.Errorf("%s has no report: run `make e2e`, `make e2e-oldest` or `make e2e-newest`", folder)
	}
	for _, r := range reports {
		if len(r.Versions) == 0 {
			leftOut = append(leftOut, fmt.Sprintf("the run of %s had no fleet", r.began.Format(minutes)))
		}
	}
	for _, end := range Ends {
		planned, err := end.planned()
		if err != nil {
			return nil, err
		}
		var of []report
		for _, r := range reports {
			if r.End != end || len(r.Versions) == 0 {
				continue
			}
			if different := differences(r.Versions, planned); different != "" {
				leftOut = append(leftOut, fmt.Sprintf("the run of %s (%s): %s", r.began.Format(minutes), end, different))
				continue
			}
			of = append(of, r)
		}
		if len(of) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, end.file()), merge(of).encode(), 0o644); err != nil {
			return nil, err
		}
	}
	return leftOut, nil
}

// encode returns the record as JSON, with a line for each spec.
func (r Record) encode() []byte {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	lines.SetIndent("", "  ")
	if err := lines.Encode(r); err != nil {
		panic(err) // a Record has only texts and numbers
	}
	return b.Bytes()
}
