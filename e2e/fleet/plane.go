package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const hubName = "hub"

// Layers of processes: a later layer needs the earlier layers.
const (
	layerStore = iota
	layerAPIServer
	layerControllers
)

// A plane is a control plane with its other processes: the hub, or a managed cluster.
type plane struct {
	*supervisor
	name   string
	argo   argoCD
	ca     *authority
	server string
	rest   *rest.Config
	client client.Client
	redis  *redisServer
	// registers is true for a cluster that joins by a bootstrap token, and imported for a cluster that OCM's importer
	// joins. guest is true for the hub of a different fleet: only the hub's agents belong to this fleet.
	registers, imported, guest bool
	// transport is where the plane's work agent fetches works.
	transport string

	// netns is the network namespace of the plane's processes; nil for the network of the machine.
	netns *netns

	portsMu sync.Mutex
	ports   map[string]int
}

func (s *supervisor) newPlane(name string) (*plane, error) {
	ca, err := openAuthority(s.paths.pki(name), "towline-fleet-"+name)
	if err != nil {
		return nil, err
	}
	return &plane{supervisor: s, name: name, argo: s.opts.argoCDOn(name), ca: ca, transport: s.opts.Transport, ports: map[string]int{}}, nil
}

// port returns the port for a purpose. Further calls with the purpose return the same port.
func (p *plane) port(purpose string) (int, error) {
	p.portsMu.Lock()
	defer p.portsMu.Unlock()
	if port, ok := p.ports[purpose]; ok {
		return port, nil
	}
	port, err := p.supervisor.ports.take(p.name + " " + purpose)
	if err == nil {
		p.ports[purpose] = port
	}
	if err == nil && p.netns != nil {
		err = p.netns.serve(loopback(port))
	}
	return port, err
}

// addresses returns 127.0.0.1:<port> for each purpose.
func (p *plane) addresses(purposes ...string) ([]string, error) {
	out := make([]string, len(purposes))
	for i, purpose := range purposes {
		port, err := p.port(purpose)
		if err != nil {
			return nil, err
		}
		out[i] = loopback(port)
	}
	return out, nil
}

// dir makes a folder in the plane's data, and returns its path.
func (p *plane) dir(name string) (string, error) {
	dir := filepath.Join(p.paths.data(p.name), name)
	return dir, os.MkdirAll(dir, 0o755)
}

// environment returns the environment of a process. The user's own settings, proxies above all, are not in the
// environment.
func (p *plane) environment(process string, extra ...string) ([]string, error) {
	home, err := p.dir("home-" + process)
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + p.paths.bin() + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + home, "TMPDIR=" + home,
		"GIT_CONFIG_NOSYSTEM=1",
	}
	return append(env, extra...), nil
}

// certificateKubeconfig writes kubeconfig/<file>.yaml for a user with a client certificate.
func (p *plane) certificateKubeconfig(file string, id identity) (string, error) {
	pair, err := p.ca.issue(id)
	if err != nil {
		return "", err
	}
	path := p.paths.kubeconfig(file)
	return path, writeKubeconfig(path, renderKubeconfig(p.name, p.server, p.ca.certPEM, certificateUser(pair)))
}

// adminKubeconfig writes a kubeconfig with all rights, for a user name that is visible in audit logs.
func (p *plane) adminKubeconfig(file, user string) (string, error) {
	return p.certificateKubeconfig(file, identity{user: user, groups: []string{"system:masters"}})
}

// componentKubeconfig writes a kubeconfig with all rights for one of the plane's own processes.
func (p *plane) componentKubeconfig(component string) (string, error) {
	return p.adminKubeconfig(p.name+"-"+component, "fleet:"+component)
}

// serviceAccountKubeconfig writes kubeconfig/<plane>-<name>.yaml with a token of a ServiceAccount.
func (p *plane) serviceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	return serviceAccountKubeconfig(ctx, p.paths, p.name, p.rest, namespace, name)
}

// connect makes the clients of the plane's admin.
func (p *plane) connect() error {
	path, err := p.adminKubeconfig(p.name, "admin")
	if err != nil {
		return err
	}
	return p.connectBy(path)
}

// connectBy makes the clients of the plane's admin from a kubeconfig.
func (p *plane) connectBy(path string) (err error) {
	if p.rest, err = loadRESTConfig(path); err != nil {
		return err
	}
	httpClient, err := rest.HTTPClientFor(p.rest)
	if err != nil {
		return err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(p.rest, httpClient)
	if err != nil {
		return err
	}
	made, err := client.New(p.rest, client.Options{HTTPClient: httpClient, Mapper: mapper})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client = made
	return err
}

// apply applies YAML manifests to the plane.
func (p *plane) apply(ctx context.Context, namespace, text string) error {
	objects, err := decode([]byte(strings.TrimSpace(text)))
	if err != nil {
		return fmt.Errorf("manifest for %s: %w", p.name, err)
	}
	return applyObjects(ctx, p.client, namespace, objects...)
}

// applyManifests applies the manifests in a folder of a program set. With values, the manifests are rendered as
// templates.
func (p *plane) applyManifests(ctx context.Context, namespace string, set programSet, folder string, values any) error {
	files, err := p.programs.manifests(set, folder)
	if err != nil {
		return err
	}
	objects, err := decodeFiles(files, values)
	if err != nil {
		return err
	}
	return applyObjects(ctx, p.client, namespace, objects...)
}
