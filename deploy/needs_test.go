package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeeds: on a machine without the programs for the tests, .ci/needs installs the missing packages. Without apt, .ci/needs
// prints the command to run.
func TestNeeds(t *testing.T) {
	const (
		all     = "chromium jq prometheus npm openssh-client mkdocs-material"
		apt     = `[[ $1 == update ]] || echo "apt-get $*"`
		sudo    = `"${@:2}"` // the first argument is --non-interactive
		nothing = ""
	)
	for name, tc := range map[string]struct {
		programs map[string]string // scripts by name, in addition to Go, git, make and gcc
		without  string
		fails    bool
		says     string
	}{
		"no compiler": {without: "gcc", fails: true,
			says: "The tests need gcc. Install Go from https://go.dev/dl, and the other programs from your distribution.\n"},
		"no apt": {fails: true, says: "sudo apt-get install --no-install-recommends " + all + "\n"},
		"bare Debian": {
			programs: map[string]string{"apt-get": apt, "sudo": sudo},
			says:     "apt-get install --yes --no-install-recommends " + all + "\n",
		},
		"without chromium": {
			programs: map[string]string{
				"apt-get": apt, "sudo": sudo, "jq": nothing, "promtool": nothing, "npm": nothing, "ssh": nothing, "mkdocs": nothing,
			},
			says: "apt-get install --yes --no-install-recommends chromium\n",
		},
		"all programs": {programs: map[string]string{
			"chromium": nothing, "jq": nothing, "promtool": nothing, "npm": nothing, "ssh": nothing, "mkdocs": nothing,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Fatal(err)
			}
			path := t.TempDir()
			programs := map[string]string{"go": nothing, "git": nothing, "make": nothing, "gcc": nothing}
			maps.Copy(programs, tc.programs)
			delete(programs, tc.without)
			for program, script := range programs {
				if err := os.WriteFile(filepath.Join(path, program), []byte("#!"+bash+"\n"+script+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), bash, "../.ci/needs")
			cmd.Env = []string{"PATH=" + path}
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails || !strings.HasSuffix(string(out), tc.says) || tc.says == "" && len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
