// Command matrix writes the blocks of docs/compatibility.md from the records in e2e/matrix. With a folder of reports, the command
// first makes the records from the reports, and fails if a record has a problem. See package matrix.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/towline-io/towline/e2e/matrix"
)

func main() {
	root := flag.String("root", "..", "the root of the repository")
	reports := flag.String("reports", "", "the folder with reports of the suite; empty: the records stay unchanged")
	flag.Parse()
	if err := run(*root, *reports); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(root, reports string) error {
	if reports == "" {
		return matrix.WritePage(root)
	}
	leftOut, err := matrix.Update(root, reports)
	if err != nil {
		return err
	}
	for _, report := range leftOut {
		fmt.Fprintln(os.Stderr, "matrix: not merged:", report)
	}
	if err := matrix.WritePage(root); err != nil {
		return err
	}
	return matrix.Check(root)
}
