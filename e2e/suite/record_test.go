package suite

import (
	"flag"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/towline-io/towline/e2e/fleet"
	"github.com/towline-io/towline/e2e/matrix"
)

var reportsFolder = flag.String("towline.reports", "",
	"folder for a report of each run, for `make matrix`; a run with another profile or with works in Maestro has no report")

// isRecorded returns whether the run counts for docs/compatibility.md.
func isRecorded() bool {
	return *reportsFolder != "" && *profile == profileOCM && *transport == fleet.TransportHub
}

// recorded returns the configuration of a reporter with the file of the run's report. Later runs keep the file.
func recorded(c types.ReporterConfig) types.ReporterConfig {
	if isRecorded() {
		name := fmt.Sprintf("%s-%s%s.json", matrix.NameOf(fleet.EndOr("")), time.Now().UTC().Format("20060102T150405"), *half)
		c.JSONReport = filepath.Join(*reportsFolder, name)
	}
	return c
}

// recordVersions adds the versions of the running fleet to the run's report.
func recordVersions() {
	GinkgoHelper()
	if !isRecorded() {
		return
	}
	versions, err := f.RunningVersions()
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry(matrix.VersionsEntry, matrix.Run{End: matrix.NameOf(fleet.EndOr("")), Versions: versions}, ReportEntryVisibilityNever)
}
