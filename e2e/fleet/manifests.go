package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// copyManifests copies files of modules into the set's folder. Each subfolder is copied completely or not at all.
func (b *Builder) copyManifests(ctx context.Context, source, folder string, set programSet) error {
	parts := map[string]string{}
	defer func() {
		for _, part := range parts {
			_ = os.RemoveAll(part)
		}
	}()
	for _, m := range set.manifests {
		target := filepath.Join(folder, m.folder)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		part, ok := parts[target]
		if !ok {
			var err error
			if part, err = os.MkdirTemp(folder, "part-"); err != nil {
				return err
			}
			parts[target] = part
		}
		if err := copyManifest(ctx, source, m, part); err != nil {
			return err
		}
	}
	for target, part := range parts {
		if err := errors.Join(os.Chmod(part, 0o755), os.MkdirAll(filepath.Dir(target), 0o755), os.Rename(part, target)); err != nil {
			return err
		}
	}
	return nil
}

func copyManifest(ctx context.Context, source string, m manifest, target string) error {
	module, err := moduleFolder(ctx, source, m.module)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(module, m.pattern))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("module %s has no %s: its layout changed, adapt e2e/fleet/programs.go", m.module, m.pattern)
	}
	for _, file := range files {
		if err := copyFile(file, filepath.Join(target, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}

// moduleFolder returns the folder of a module. A module is missing in Go's module cache if no program of the module is
// built, so moduleFolder downloads a missing module.
func moduleFolder(ctx context.Context, source, module string) (string, error) {
	list := []string{"list", "-m", "-f", "{{.Dir}}", module}
	folder, err := goCommand(ctx, source, list...)
	if err == nil && folder == "" {
		if folder, err = goCommand(ctx, source, "mod", "download", module); err == nil {
			folder, err = goCommand(ctx, source, list...)
		}
	}
	if err != nil {
		return "", fmt.Errorf("locating module %s: %w\n%s", module, err, folder)
	}
	return folder, nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if filepath.Ext(to) == ".sh" {
		return os.WriteFile(to, data, 0o755)
	}
	return os.WriteFile(to, data, 0o644)
}
