package towline

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

// Release is the name of Helm's release.
const Release = "towline"

// Helm runs the pinned version 4 of Helm against the hub, as its administrator.
func Helm(ctx context.Context, f *fleet.Fleet, args ...string) (string, error) {
	return HelmVersion(ctx, f, "helm4", args...)
}

// HelmVersion runs helm3 or helm4 against the hub, as its administrator.
func HelmVersion(ctx context.Context, f *fleet.Fleet, version string, args ...string) (string, error) {
	tool := []string{"tool", "-modfile=" + filepath.Join(Root(), ".ci", "tools", version, "go.mod"), "helm", "--namespace", Namespace}
	cmd := exec.CommandContext(ctx, "go", append(tool, args...)...)
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+f.Hub.Kubeconfig())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", version, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// InstallChart installs or upgrades deploy/chart on the hub, with values in the form of --set. The release takes over
// existing objects of Towline.
func InstallChart(ctx context.Context, f *fleet.Fleet, values ...string) error {
	args := []string{
		"upgrade", Release, "deploy/chart", "--install", "--take-ownership", "--force-conflicts",
		"--set=image.repository=towline,image.tag=latest",
	}
	for _, value := range values {
		args = append(args, "--set="+value)
	}
	_, err := Helm(ctx, f, args...)
	return err
}
