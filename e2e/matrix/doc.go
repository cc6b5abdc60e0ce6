// Package matrix makes docs/compatibility.md from runs of the end-to-end suite.
//
// A run of the suite leaves a report of Ginkgo, which has the versions of the running fleet and the result of each spec. The
// reports of an end (the usual, oldest or newest versions) become the record of the end: default.json, oldest.json or
// newest.json in this folder. The page has a block for each record. `make matrix` writes the records and the page, and `make
// generate` writes only the page. The tests of this package fail while a record has a failed spec, or other versions than the
// fleet.
//
// The package never runs a spec, and never adds a result that no report has.
package matrix
