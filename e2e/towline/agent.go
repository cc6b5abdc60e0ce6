package towline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/towline-io/towline/e2e/fleet"
)

const (
	// AddOn is the name of the agent's add-on, its ServiceAccount and its Deployment.
	AddOn = "towline-agent"

	// RightsAddOn is the name of the add-on that gives a cluster's agents their rights to Applications.
	RightsAddOn = "towline-rights"

	// AddOnNamespace is the namespace of add-ons on a cluster. OCM's klusterlet operator creates the namespace.
	AddOnNamespace = "open-cluster-management-agent-addon"
)

// AgentEnv is the environment in the add-on's Deployment.
var AgentEnv = []string{"GOMEMLIMIT=48MiB", "GOGC=50"}

// Agent is a running `towline agent`.
type Agent struct {
	*fleet.Process

	// Metrics and Probes are the addresses of the agent's two servers, without a path.
	Metrics, Probes string
}

// ApplyAddOns applies deploy/addon to the hub, with components of deploy/components: a Placement gives the clusters their
// rights, and the agent becomes available as an add-on.
func ApplyAddOns(ctx context.Context, f *fleet.Fleet, components ...string) error {
	if len(components) > 0 {
		return applyBuilt(ctx, f, "addon", components)
	}
	for _, file := range []string{
		"hub_role", "addon_manager_role",
		"addondeploymentconfig", "addontemplate", "clustermanagementaddon",
		"rights_addondeploymentconfig", "rights_addontemplate", "rights_clustermanagementaddon", "placement",
	} {
		if err := Apply(ctx, f, &f.Hub.ControlPlane, "deploy/addon/"+file+".yaml"); err != nil {
			return err
		}
	}
	return nil
}

// applyBuilt applies a folder of deploy with components to the hub. Kustomize needs a kustomization beside the folders.
func applyBuilt(ctx context.Context, f *fleet.Fleet, folder string, components []string) error {
	dir, err := os.MkdirTemp(filepath.Join(Root(), "deploy"), "_render-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lines := []string{"resources: [../" + folder + "]", "components:"}
	for _, component := range components {
		lines = append(lines, "- ../components/"+component)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, f.Program("kustomize"), "build", dir).Output()
	if err != nil {
		return fmt.Errorf("kustomize build: %w", err)
	}
	file, err := writeTemp(string(out))
	if err != nil {
		return err
	}
	defer os.Remove(file)
	_, err = f.Hub.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", file)
	return err
}

// InstallAddOn installs the add-ons on the hub, and requests the agent on every cluster, as in docs/agent.md.
func InstallAddOn(ctx context.Context, f *fleet.Fleet, components ...string) error {
	if err := ApplyAddOns(ctx, f, components...); err != nil {
		return err
	}
	for _, cluster := range f.Clusters() {
		clients, err := kubernetes.NewForConfig(cluster.RESTConfig())
		if err != nil {
			return err
		}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: AddOnNamespace}}
		if _, err := clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !strings.Contains(err.Error(), "already exists") {
			return err
		}
		file, err := writeTemp(fmt.Sprintf("{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: ManagedClusterAddOn, "+
			"metadata: {name: %s, namespace: %s}, spec: {}}", AddOn, cluster.Name()))
		if err != nil {
			return err
		}
		defer os.Remove(file)
		if _, err := f.Hub.Kubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
			return err
		}
	}
	return nil
}

// RunAgent starts the program as the Deployment on the cluster would. The agent has the identity on the hub from the
// add-on manager, and the rights on the cluster from the AddOnTemplate. name distinguishes several agents. more are
// arguments in addition to the arguments of the AddOnTemplate.
func RunAgent(ctx context.Context, f *fleet.Fleet, binary, cluster, name string, more ...string) (*Agent, error) {
	c := f.Cluster(cluster)
	hubKubeconfig, err := addOnKubeconfig(ctx, f, c)
	if err != nil {
		return nil, fmt.Errorf("the add-on's kubeconfig for the hub: %w", err)
	}
	// The registration agent and the work agent run independently: the ServiceAccount may come later than the Secret.
	var kubeconfig string
	err = eventually(ctx, func(ctx context.Context) (err error) {
		kubeconfig, err = c.ServiceAccountKubeconfig(ctx, AddOnNamespace, AddOn)
		return err
	})
	if err != nil {
		return nil, err
	}
	args, err := agentArgs(ctx, c)
	if err != nil {
		return nil, err
	}
	ports, err := f.FreePorts(2)
	if err != nil {
		return nil, err
	}
	a := &Agent{Metrics: fmt.Sprintf("http://127.0.0.1:%d", ports[0]), Probes: fmt.Sprintf("http://127.0.0.1:%d", ports[1])}
	// A pod mounts the Secret and has its own addresses. A process gets both as arguments.
	args = append(args, "--kubeconfig="+kubeconfig, "--hub-kubeconfig="+hubKubeconfig,
		fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", ports[1]))
	a.Process, err = f.Run(ctx, fleet.Command{
		Name: name, Path: binary, Args: append(args, more...), Env: AgentEnv, Ready: fleet.HTTPReady(a.Probes + "/readyz"),
		In: &c.ControlPlane, Serves: []string{strings.TrimPrefix(a.Metrics, "http://"), strings.TrimPrefix(a.Probes, "http://")},
	})
	return a, err
}

// agentArgs returns the arguments in the Deployment that the add-on manager has sent to the cluster.
func agentArgs(ctx context.Context, c *fleet.Cluster) ([]string, error) {
	var args []string
	err := eventually(ctx, func(ctx context.Context) error {
		out, err := c.Kubectl(ctx, "--namespace", AddOnNamespace, "get", "deployment", AddOn,
			"--output", "jsonpath={.spec.template.spec.containers[0].args}")
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(out), &args)
	})
	return args, err
}

// AddOnKubeconfig returns the path of the kubeconfig with the identity of a cluster's agent on the hub, after RunAgent.
func AddOnKubeconfig(f *fleet.Fleet, cluster string) string {
	return filepath.Join(f.Dir(), cluster+"-"+AddOn, "kubeconfig")
}

// addOnKubeconfig writes the add-on's Secret from the registration agent into a folder, as a pod would mount the
// Secret, and returns the path of the kubeconfig.
func addOnKubeconfig(ctx context.Context, f *fleet.Fleet, c *fleet.Cluster) (string, error) {
	clients, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return "", err
	}
	path := AddOnKubeconfig(f, c.Name())
	err = eventually(ctx, func(ctx context.Context) error {
		secret, err := clients.CoreV1().Secrets(AddOnNamespace).Get(ctx, AddOn+"-hub-kubeconfig", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(secret.Data["tls.crt"]) == 0 || len(secret.Data["kubeconfig"]) == 0 {
			return fmt.Errorf("the Secret has no certificate yet")
		}
		return writeFiles(filepath.Dir(path), secret.Data)
	})
	return path, err
}

func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// identityTimeout is the timeout for the objects of the add-on on a cluster. On a busy machine, OCM's registration agent (1.2.0)
// needed more than two minutes for a certificate right after the removal of the same add-on.
const identityTimeout = 5 * time.Minute

// eventually repeats try until it succeeds, and returns the last error after identityTimeout.
func eventually(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, identityTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if last != nil {
		return last
	}
	return err
}
