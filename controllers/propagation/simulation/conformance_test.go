package simulation

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("simulation.update", false, "whether to write what the model shows to the file of conformance")

const conformanceFile = "testdata/conformance.txt"

// TestConformance: the model shows the observations in the file. A real fleet must show the same observations.
func TestConformance(t *testing.T) {
	data, err := os.ReadFile(conformanceFile)
	if err != nil {
		t.Fatal(err)
	}
	cases := ParseCases(string(data))
	if len(cases) < 25 {
		t.Errorf("%d scripts", len(cases))
	}
	var b strings.Builder
	b.WriteString(conformanceHead)
	for _, c := range cases {
		t.Run(c.Title, func(t *testing.T) {
			got, err := Observe(optionsOf(nil), "argocd/one", c.Steps)
			if err != nil {
				t.Error(err)
			}
			if want := c.Observations; strings.Join(got, "\n") != strings.Join(want, "\n") && !*update {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			c.Observations = got
			b.WriteString(c.String())
		})
	}
	if *update {
		if err := os.WriteFile(conformanceFile, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const conformanceHead = `# What the model and a real fleet show alike: each case has a title, steps, and after each "settle" what is to be seen.
# go test ./controllers/propagation/simulation -run TestConformance -simulation.update writes what the model shows.
`
