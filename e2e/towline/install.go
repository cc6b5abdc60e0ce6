package towline

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/towline-io/towline/e2e/fleet"
)

const (
	// Namespace is Towline's namespace in deploy/install.yaml.
	Namespace = "argocd"

	// ServiceAccount is the name of Towline's ServiceAccount.
	ServiceAccount = "towline-controller"

	// ExampleRepo is the repository of the examples. A fleet has no access to the repository: Manifest replaces its
	// address by the fleet's own Git server, with the same folders.
	ExampleRepo = "https://github.com/argoproj/argocd-example-apps.git"

	// OwnRepo is this project's own repository. Regional hubs get the content of example/hubs from it.
	OwnRepo = "https://github.com/towline-io/towline.git"
)

// Root returns the root of the checkout.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// ForACM changes the examples from a hub with Open Cluster Management alone to a hub with Advanced Cluster Management,
// as in example/openshift-gitops.
var ForACM = []string{
	"ocm-placement-generator", "acm-placement",
	"    name: all-clusters\n---", "    name: all-clusters\n  createBlankClusterSecrets: true\n---",
}

// Changes are additional replacements for Manifest, as pairs of an old and a new text.
var Changes []string

// Manifest returns a file of the checkout, adapted to the fleet.
func Manifest(f *fleet.Fleet, path string) (string, error) {
	data, err := os.ReadFile(filepath.Join(Root(), path))
	if err != nil {
		return "", err
	}
	here := f.Git.URL(fleet.AppsRepo)
	return strings.NewReplacer(append([]string{ExampleRepo, here, OwnRepo, here}, Changes...)...).Replace(string(data)), nil
}

// Apply applies a file, or all files of a folder, of the checkout to a control plane.
func Apply(ctx context.Context, f *fleet.Fleet, plane *fleet.ControlPlane, path string) error {
	files := []string{path}
	if info, err := os.Stat(filepath.Join(Root(), path)); err != nil {
		return err
	} else if info.IsDir() {
		if files, err = fs.Glob(os.DirFS(Root()), filepath.Join(path, "*.yaml")); err != nil || len(files) == 0 {
			return fmt.Errorf("%s: no manifests: %w", path, err)
		}
	}
	folder, err := os.MkdirTemp("", "towline-apply-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, file := range files {
		manifest, err := Manifest(f, file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), []byte(manifest), 0o600); err != nil {
			return err
		}
	}
	if _, err := plane.Kubectl(ctx, "apply", "--server-side", "-f", folder); err != nil {
		return fmt.Errorf("apply %s to %s: %w", path, plane.Name(), err)
	}
	return nil
}

// writeTemp writes a manifest into a new file, and returns the path.
func writeTemp(manifest string) (string, error) {
	file, err := os.CreateTemp("", "towline-*.yaml")
	if err != nil {
		return "", err
	}
	if _, err := file.WriteString(manifest); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// Install applies the objects that a user applies before the first ApplicationSet: to the hub, and to the clusters of the
// Fleet. A Fleet of fleet.Options.OnHub has no clusters: InstallOnClusters does the rest.
func Install(ctx context.Context, f *fleet.Fleet) error {
	return apply(ctx, f, "deploy/install.yaml", "example/hub")
}

// InstallOnClusters applies the objects that a user applies to each cluster.
func InstallOnClusters(ctx context.Context, f *fleet.Fleet) error { return apply(ctx, f) }

// ApplyExamples applies the examples to the hub and its clusters, as a user does in addition to Towline.
func ApplyExamples(ctx context.Context, f *fleet.Fleet) error {
	return apply(ctx, f, "example/hub")
}

// apply applies some paths to the hub, in order, and the example to all clusters at the same time.
func apply(ctx context.Context, f *fleet.Fleet, hub ...string) error {
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		for _, path := range hub {
			if err := Apply(ctx, f, &f.Hub.ControlPlane, path); err != nil {
				return err
			}
		}
		return nil
	})
	for _, cluster := range f.Clusters() {
		all.Go(func() error { return Apply(ctx, f, &cluster.ControlPlane, "example/managed") })
	}
	return all.Wait()
}

// WaitImported waits until the GitOpsCluster of example/hub has imported the clusters into the hub's Argo CD. An
// earlier ApplicationSet finds no clusters, and generates again only half a minute later.
func WaitImported(ctx context.Context, f *fleet.Fleet) error {
	return waitImported(ctx, f, "condition=Ready")
}

// WaitImportedAll waits until the GitOpsCluster of example/hub has imported each cluster of the Fleet, also if Towline
// runs before the clusters have joined.
func WaitImportedAll(ctx context.Context, f *fleet.Fleet) error {
	return waitImported(ctx, f, fmt.Sprintf("jsonpath={.status.clusters}=%d", len(f.Clusters())))
}

func waitImported(ctx context.Context, f *fleet.Fleet, condition string) error {
	_, err := f.Hub.Kubectl(ctx, "--namespace", fleet.ArgoCDNamespace, "wait", "--for="+condition, "gitopscluster/clusters", "--timeout=2m")
	return err
}
