package suite

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
)

// The specs mostly wait, and use two fifths of two cores. Two processes therefore run the specs side by side, each with a fleet.
var (
	half   = flag.String("towline.half", "", "first or second: run only the specs in half of the files")
	halves = flag.String("towline.halves", "", "folder in which both halves write the used rights; the later half checks the rights")
)

// firstHalf matches the files of the first half. Both halves take about as long.
const firstHalf = `/suite/[a-l][a-z0-9_]*_test\.go`

// inHalf returns the configuration for the specs of the chosen half.
func inHalf(c types.SuiteConfig) types.SuiteConfig {
	switch *half {
	case "":
	case "first":
		c.FocusFiles = append(c.FocusFiles, firstHalf)
	case "second":
		c.SkipFiles = append(c.SkipFiles, firstHalf)
	default:
		panic("-towline.half: " + *half + " is neither first nor second")
	}
	return c
}

// usage has the granted rights of a subject, and the used rights. Excused rights need no use.
type usage struct{ Granted, Used, Excused []string }

// never returns the granted rights without a use.
func (u usage) never() []string {
	return slices.DeleteFunc(slices.Clone(u.Granted), func(right string) bool {
		return slices.Contains(u.Used, right) || slices.Contains(u.Excused, right)
	})
}

// ofBothHalves stores the usages of this half, and adds the usages of the other half. complete is false if the other half has
// not passed yet. The other half then finds the stored usages.
func ofBothHalves(mine map[string]usage) (all map[string]usage, complete bool) {
	GinkgoHelper()
	text, err := json.Marshal(mine)
	Expect(err).NotTo(HaveOccurred())
	draft := filepath.Join(*halves, *half+".draft")
	Expect(os.WriteFile(draft, text, 0o600)).To(Succeed())
	Expect(os.Rename(draft, filepath.Join(*halves, *half+".json"))).To(Succeed())
	other := map[string]string{"first": "second", "second": "first"}[*half]
	text, err = os.ReadFile(filepath.Join(*halves, other+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(text, &all)).To(Succeed())
	Expect(all).To(HaveLen(len(mine)))
	for who, u := range mine {
		u.Granted, u.Used = append(u.Granted, all[who].Granted...), append(u.Used, all[who].Used...)
		all[who] = u
	}
	return all, true
}
