package matrix

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// pageFile is the page with the blocks, below the root of the repository.
var pageFile = filepath.Join("docs", "compatibility.md")

// WritePage writes the block of each record into the page of the repository in the folder root. An end without a record keeps
// the block that a person wrote.
func WritePage(root string) error {
	file := filepath.Join(root, pageFile)
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	records, err := Records(root)
	if err != nil {
		return err
	}
	text, err := fill(string(page), records)
	if err != nil || text == string(page) {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// marks returns the lines before and after the block of an end. MkDocs and GitHub hide both lines.
func (e End) marks() (begin, end string) {
	return fmt.Sprintf("<!-- matrix %s: `make matrix` writes this block if %s exists -->\n", e, filepath.ToSlash(e.file())),
		fmt.Sprintf("<!-- end of matrix %s -->\n", e)
}

// fill returns a page with the blocks of records. The page must have the marks of all ends.
func fill(page string, records []Record) (string, error) {
	for _, e := range Ends {
		begin, end := e.marks()
		before, rest, foundBegin := strings.Cut(page, begin)
		block, after, foundEnd := strings.Cut(rest, end)
		if !foundBegin || !foundEnd {
			return "", fmt.Errorf("%s lacks the lines\n%s%s", pageFile, begin, end)
		}
		if i := slices.IndexFunc(records, func(r Record) bool { return r.End == e }); i >= 0 {
			block = "\n" + records[i].text() + "\n"
		}
		page = before + begin + block + end + after
	}
	return page, nil
}

// text returns the block of a record: the versions, the counts, and the features that an old version lacks.
func (r Record) text() string {
	var b strings.Builder
	b.WriteString("| | Kubernetes | Open Cluster Management | Argo CD |\n|---|---|---|---|\n")
	for _, row := range rows(r.Versions) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	when := "on " + r.From
	if r.From != r.To {
		when = "from " + r.From + " to " + r.To
	}
	fmt.Fprintf(&b, "\nThe end-to-end suite ran %s.\n%s\n%s\n", when, r.Short.sentence("short"), r.Long.sentence("long"))

	lacks := map[string][]string{}
	for _, l := range slices.Concat(r.Short.Lacking, r.Long.Lacking) {
		feature := fmt.Sprintf("%s (%s)", l.Feature, count(len(l.Specs), "spec"))
		lacks[l.Program] = append(lacks[l.Program], feature)
	}
	if len(lacks) == 0 {
		return b.String()
	}
	b.WriteString("\nAn old version lacks the features of some specs:\n\n| lacks the feature | specs that do not run |\n|---|---|\n")
	for _, program := range slices.Sorted(maps.Keys(lacks)) {
		fmt.Fprintf(&b, "| %s | %s |\n", program, strings.Join(lacks[program], "; "))
	}
	return b.String()
}

// rows returns a row for the hub, and a row for each combination of versions of clusters.
func rows(planes map[string]fleet.Versions) [][]string {
	const hub = "hub"
	row := func(name string, v fleet.Versions) []string {
		return []string{name, plain(v.Kubernetes), plain(v.OCM), plain(v.ArgoCD)}
	}
	list := [][]string{row(hub, planes[hub])}
	at := map[fleet.Versions]int{}
	for _, name := range slices.Sorted(maps.Keys(planes)) {
		if name == hub {
			continue
		}
		if i, found := at[planes[name]]; found {
			list[i][0] += ", " + name
			continue
		}
		at[planes[name]] = len(list)
		list = append(list, row(name, planes[name]))
	}
	return list
}

// plain returns a version without its leading v.
func plain(version string) string { return strings.TrimPrefix(version, "v") }

// sentence returns the counts of the short or of the long specs.
func (r Results) sentence(kind string) string {
	if r.Specs == len(r.NotTried) {
		return fmt.Sprintf("The %s specs were not tried (%s).", kind, count(r.Specs, "spec"))
	}
	parts := []string{fmt.Sprintf("Of the %s, %d ran and passed", count(r.Specs, kind+" spec"), r.Passed)}
	were := "were"
	if len(r.NotTried) == 1 {
		were = "was"
	}
	for _, p := range []struct {
		n    int
		text string
	}{
		{len(r.Failed), "failed"},
		{r.lacking(), "cannot run with an old version"},
		{len(r.NotTried), were + " not tried"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	if len(parts) == 1 {
		return parts[0] + "."
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1] + "."
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
