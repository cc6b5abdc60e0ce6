package towline

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/towline-io/towline/e2e/fleet"
)

const (
	deployment           = "towline-controller"
	setControllerName    = "argocd-applicationset-controller"
	setControllerObjects = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-applicationset-controller
  namespace: argocd
  labels: {app.kubernetes.io/name: argocd-applicationset-controller, app.kubernetes.io/part-of: argocd}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: argocd-applicationset-controller}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argocd-applicationset-controller}}
    spec: {containers: [{name: argocd-applicationset-controller, image: "quay.io/argoproj/argocd:%s"}]}
`
)

// Declare makes the hub show two processes as a hub with Pods shows them, for `kubectl towline check`: a Deployment of
// Argo CD's ApplicationSet controller with a ready Pod, and one ready Pod of Towline. The hub runs no Deployments, so the
// status stays.
func Declare(ctx context.Context, f *fleet.Fleet) error {
	version, err := argoVersion(ctx, f)
	if err != nil {
		return err
	}
	file, err := writeTemp(fmt.Sprintf(setControllerObjects, version))
	if err != nil {
		return err
	}
	defer os.Remove(file)
	const status = `{"status": {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}}`
	for _, args := range [][]string{
		{"apply", "--server-side", "--filename=" + file},
		{"scale", "deployment/" + deployment, "--replicas=1"},
		{"patch", "deployment/" + deployment, "--subresource=status", "--type=merge", "--patch=" + status},
		{"patch", "deployment/" + setControllerName, "--subresource=status", "--type=merge", "--patch=" + status},
	} {
		if _, err := f.Hub.Kubectl(ctx, append([]string{"--namespace=" + Namespace}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// argoVersion returns the version of the hub's Argo CD, like v3.5.7.
func argoVersion(ctx context.Context, f *fleet.Fleet) (string, error) {
	out, err := exec.CommandContext(ctx, f.Program("argocd"), "version", "--client", "--short").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the version of Argo CD: %w\n%s", err, out)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(string(out), "argocd: ")), "+")
	return version, nil
}
