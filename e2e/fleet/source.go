package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// checkoutRoot returns the root of the checkout: a folder above the working directory, or else above this source file.
func checkoutRoot() (string, error) {
	if wd, err := os.Getwd(); err == nil {
		if root, ok := rootAbove(wd); ok {
			return root, nil
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		if root, ok := rootAbove(filepath.Dir(file)); ok {
			return root, nil
		}
	}
	return "", errors.New("the checkout with e2e/programs was not found: run the command inside the checkout")
}

func rootAbove(dir string) (string, bool) {
	for {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "programs", fleetSet.name, "go.mod")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
