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
	controllerObjects = `
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: argocd-application-controller
  namespace: argocd
  labels: {app.kubernetes.io/name: argocd-application-controller, app.kubernetes.io/part-of: argocd}
spec:
  serviceName: argocd-application-controller
  selector: {matchLabels: {app.kubernetes.io/name: argocd-application-controller}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argocd-application-controller}}
    spec: {containers: [{name: argocd-application-controller, image: "quay.io/argoproj/argocd:%s"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: klusterlet-work-agent, namespace: open-cluster-management-agent}
spec:
  selector: {matchLabels: {app: klusterlet-manifestwork-agent}}
  template:
    metadata: {labels: {app: klusterlet-manifestwork-agent}}
    spec: {containers: [{name: klusterlet-work-agent, image: "quay.io/open-cluster-management/registration-operator"}]}
`
)

// Declare makes the hub show two processes as a hub with Pods shows them, for `kubectl towline check`: a Deployment of
// Argo CD's ApplicationSet controller with a ready Pod, and one ready Pod of Towline. The hub runs no Deployments, so the
// status stays.
func Declare(ctx context.Context, f *fleet.Fleet) error {
	if err := declare(ctx, f, f.Hub, setControllerObjects); err != nil {
		return err
	}
	if _, err := f.Hub.Kubectl(ctx, "--namespace="+Namespace, "scale", "deployment/"+deployment, "--replicas=1"); err != nil {
		return err
	}
	return ready(ctx, f.Hub, [][]string{{Namespace, "deployment/" + deployment}, {Namespace, "deployment/" + setControllerName}})
}

// DeclareOn makes a cluster show its Argo CD and its work agent as a StatefulSet and a Deployment with a ready Pod each,
// for `kubectl towline check --cluster-kubeconfig`. The cluster must run the version of the hub's Argo CD.
func DeclareOn(ctx context.Context, f *fleet.Fleet, c *fleet.Cluster) error {
	if err := declare(ctx, f, c, controllerObjects); err != nil {
		return err
	}
	return ready(ctx, c, [][]string{
		{Namespace, "statefulset/argocd-application-controller"}, {"open-cluster-management-agent", "deployment/klusterlet-work-agent"},
	})
}

// kubectler is a hub or a cluster.
type kubectler interface {
	Kubectl(ctx context.Context, args ...string) (string, error)
}

// declare applies the objects with the version of the hub's Argo CD.
func declare(ctx context.Context, f *fleet.Fleet, to kubectler, objects string) error {
	version, err := argoVersion(ctx, f)
	if err != nil {
		return err
	}
	file, err := writeTemp(fmt.Sprintf(objects, version))
	if err != nil {
		return err
	}
	defer os.Remove(file)
	_, err = to.Kubectl(ctx, "apply", "--server-side", "--filename="+file)
	return err
}

// ready gives each workload, by namespace and name, the status of one ready Pod.
func ready(ctx context.Context, to kubectler, workloads [][]string) error {
	const status = `--patch={"status": {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}}`
	for _, w := range workloads {
		if _, err := to.Kubectl(ctx, "--namespace="+w[0], "patch", w[1], "--subresource=status", "--type=merge", status); err != nil {
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
