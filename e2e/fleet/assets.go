package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Assets builds the programs for tests of controllers, and returns the folder for KUBEBUILDER_ASSETS: etcd,
// kube-apiserver and kubectl, and a folder crds with the CRDs of Argo CD and OCM. An end gives its kube-apiserver and its CRDs.
func (b *Builder) Assets(ctx context.Context) (string, error) {
	end := EndOr(b.End)
	if err := end.validate(); err != nil {
		return "", err
	}
	// Only the manifests of Argo CD are needed. A program takes minutes to build.
	argo := argo2Set
	if end == Newest {
		argo = newArgoSet
	}
	argo.programs, argo.links = nil, nil
	sets := append([]programSet{fleetSet, argo}, end.sets()...)
	programs, err := b.build(ctx, sets...)
	if err != nil {
		return "", err
	}
	// Each combination of versions has its own folder, because a folder in use must not change.
	var keys []string
	for _, set := range sets {
		folder := filepath.Base(programs.folders[set.name])
		keys = append(keys, folder[strings.LastIndex(folder, "-")+1:][:6])
	}
	target := filepath.Join(b.CacheDir, "assets-"+strings.Join(keys, "-"))
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	return target, b.fillAssets(programs, target, end.ocm(), argo)
}

func (b *Builder) fillAssets(programs *Programs, target string, ocmSet, argoSet programSet) error {
	part, err := os.MkdirTemp(b.CacheDir, "assets.part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(part, "crds"), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := os.Symlink(programs.Path(name), filepath.Join(part, name)); err != nil {
			return err
		}
	}
	ocm, err := programs.manifests(ocmSet, ocmManifests+"/crds")
	if err != nil {
		return err
	}
	argo, err := programs.manifests(argoSet, argoManifests+"/crds")
	if err != nil {
		return err
	}
	for _, file := range append(ocm, argo...) {
		if err := copyFile(file, filepath.Join(part, "crds", filepath.Base(file))); err != nil {
			return err
		}
	}
	err = os.Rename(part, target)
	if errors.Is(err, os.ErrExist) {
		return nil // another process was faster
	}
	return err
}
