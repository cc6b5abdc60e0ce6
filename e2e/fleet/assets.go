package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Assets builds the programs for tests of controllers, and returns the folder for KUBEBUILDER_ASSETS: etcd,
// kube-apiserver and kubectl, and a folder crds with the CRDs of Argo CD and OCM.
func (b *Builder) Assets(ctx context.Context) (string, error) {
	// Only the manifests of OCM and Argo CD are needed. Their programs take minutes to build.
	ocm, argo := ocmSet, argoCDOf("2.14").set
	ocm.programs, argo.programs, argo.links = nil, nil, nil
	programs, err := b.build(ctx, etcdSet, controlPlaneSet, ocm, argo)
	if err != nil {
		return "", err
	}
	// Each combination of versions has its own folder, because a folder in use must not change.
	var keys []string
	for _, set := range []string{"etcd", "kubernetes", "ocm", "argocd"} {
		folder := filepath.Base(programs.folders[set])
		keys = append(keys, folder[strings.LastIndex(folder, "-")+1:][:6])
	}
	target := filepath.Join(b.CacheDir, "assets-"+strings.Join(keys, "-"))
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	return target, fillAssets(programs, b.CacheDir, target)
}

func fillAssets(programs *Programs, cache, target string) error {
	part, err := os.MkdirTemp(cache, "assets.part-")
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
	for _, set := range []string{"ocm", "argocd"} {
		if err := copyCRDs(programs, set, filepath.Join(part, "crds")); err != nil {
			return err
		}
	}
	err = os.Rename(part, target)
	if errors.Is(err, os.ErrExist) {
		return nil // another process was faster
	}
	return err
}

func copyCRDs(programs *Programs, set, target string) error {
	files, err := programs.Manifests(set, "crds")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := copyFile(file, filepath.Join(target, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}
