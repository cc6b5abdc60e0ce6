// Command needs prints the missing needs of a fleet on this machine, with a remedy for each need: programs, memory, disk space and
// ports. The command imports only the standard library, so the answer comes before the first long build.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	transport := flag.String("transport", "hub", "where the works are: hub or maestro")
	flag.Parse()
	m, err := thisMachine()
	if err != nil {
		fmt.Fprintln(os.Stderr, "needs:", err)
		os.Exit(1)
	}
	lacks := m.lacks(*transport)
	if len(lacks) == 0 {
		return
	}
	fmt.Fprintln(os.Stderr, "This machine lacks:")
	for _, need := range lacks {
		fmt.Fprintf(os.Stderr, "  - %s\n    Remedy: %s\n", need.lack, need.remedy)
	}
	fmt.Fprintln(os.Stderr, "To start without this check: make demo NEEDS=:")
	os.Exit(1)
}

// programsModule is the module of the fleet's program. The module needs the newest Go.
func programsModule() string { return filepath.Join("programs", "fleet") }
