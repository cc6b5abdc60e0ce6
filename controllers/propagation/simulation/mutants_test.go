package simulation

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestMutantsApply checks that each mutant of the script mutants finds the code to change, exactly once. The script
// then breaks the code in one place at a time, which takes minutes.
func TestMutantsApply(t *testing.T) {
	script, err := os.ReadFile("mutants")
	if err != nil {
		t.Fatal(err)
	}
	// The function mutant of the script gets a body that only counts.
	const begin = "\np=controllers/propagation"
	i := bytes.Index(script, []byte(begin))
	if i < 0 {
		t.Fatal("the script has no list of mutants")
	}
	count := `set -eu
mutant() {
	n=$(PATTERN=$4 perl -0777 -ne '$n = () = /\Q$ENV{PATTERN}\E/g; print $n' "$3")
	if [ "$n" != 1 ]; then echo "$1: $n places in $3"; fi
}
survivors=0`
	run := exec.CommandContext(t.Context(), "bash", "-c", count+string(script[i:])+"\n")
	run.Dir = "../../.."
	out, err := run.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
