package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/modfile"
	"k8s.io/client-go/discovery"
)

// Versions are the versions of the programs of a plane, which is the hub or a managed cluster.
type Versions struct {
	Kubernetes string `json:"kubernetes"`
	OCM        string `json:"openClusterManagement"`
	ArgoCD     string `json:"argoCD"`
}

// RunningVersions returns the versions of the running programs, by plane. Each API server answers a request. The programs of
// OCM and of Argo CD write their version into their log at each start.
func (f *Fleet) RunningVersions() (map[string]Versions, error) {
	running := map[string]Versions{}
	var err error
	if running[hubName], err = f.Hub.runningVersions("registration-controller", "argocd-server"); err != nil {
		return nil, err
	}
	for _, c := range f.clusters {
		if running[c.name], err = c.runningVersions("registration-agent", "argocd-application-controller"); err != nil {
			return nil, err
		}
	}
	return running, nil
}

func (c *ControlPlane) runningVersions(ocm, argo string) (v Versions, err error) {
	clients, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return v, err
	}
	server, err := clients.ServerVersion()
	if err != nil {
		return v, fmt.Errorf("version of the API server of %s: %w", c.name, err)
	}
	v.Kubernetes = server.GitVersion
	if v.OCM, err = loggedVersion(c.Log(ocm), ocmStart); err != nil {
		return v, err
	}
	v.ArgoCD, err = loggedVersion(c.Log(argo), argoStart)
	return v, err
}

// ocmStart and argoStart match the line of a log at the start of a program of OCM, and of Argo CD. The version is without the
// commit. Argo CD 2.14 writes plain text, and Argo CD 3 writes JSON.
var (
	ocmStart  = regexp.MustCompile(`(?m) registration-(?:controller|agent) version (v\S+)-\S*$`)
	argoStart = regexp.MustCompile(`(?m)is starting".*\bversion"?[=:]"?(v[^+"\s]+)`)
)

// loggedVersion returns the version at the last start of a program, from its log.
func loggedVersion(log string, start *regexp.Regexp) (string, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return "", err
	}
	starts := start.FindAllSubmatch(text, -1)
	if len(starts) == 0 {
		return "", fmt.Errorf("the log %s names no version of the program", log)
	}
	return string(starts[len(starts)-1][1]), nil
}

// PlannedVersions returns the versions of a fleet of an end with the given clusters, by plane. The versions are from the go.mod
// files of the programs.
func PlannedVersions(end End, clusters []string) (map[string]Versions, error) {
	o := Options{Clusters: clusters, ArgoCD: end.ArgoCD()}
	planned := map[string]Versions{}
	for _, plane := range append([]string{hubName}, clusters...) {
		argo := o.argoCDOn(plane).set
		var v Versions
		for _, p := range []struct {
			version *string
			set     programSet
			modules []string
		}{
			{&v.Kubernetes, end.kubernetes(), []string{kubernetesModule}},
			{&v.OCM, end.ocm(), []string{ocmModule}},
			{&v.ArgoCD, argo, []string{argo2Module, argo3Module}},
		} {
			var err error
			if *p.version, err = p.set.requires(p.modules...); err != nil {
				return nil, err
			}
		}
		planned[plane] = v
	}
	return planned, nil
}

// requires returns the version of the first required module in the go.mod of a set.
func (s programSet) requires(modules ...string) (string, error) {
	root, err := checkoutRoot()
	if err != nil {
		return "", err
	}
	name := filepath.Join(root, "e2e", "programs", s.name, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	file, err := modfile.ParseLax(name, data, nil)
	if err != nil {
		return "", err
	}
	for _, r := range file.Require {
		if slices.Contains(modules, r.Mod.Path) {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s requires none of %v", name, modules)
}
