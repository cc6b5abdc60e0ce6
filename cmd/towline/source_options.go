package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/search"
)

// sourceOptions are the flags about the sources of the Applications' resources.
type sourceOptions struct {
	sources      []string
	searchFolder string
	search       controllers.SearchOptions
}

// The files in the folder of --search: the keys of a mounted Secret.
const (
	searchURLFile   = "url"
	searchTokenFile = "token"
	searchCAFile    = "ca.crt"
)

func newSourceOptions() sourceOptions {
	return sourceOptions{
		sources: controllers.DefaultSources,
		search:  controllers.SearchOptions{TokenFile: controllers.DefaultTokenFile},
	}
}

func (o *sourceOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.sources, "resource-source", o.sources,
		"sources of the Applications' resources, in addition to the feedback of the ManifestWorks: "+strings.Join(controllers.Sources, ", "))
	fs.StringVar(&o.searchFolder, "search", o.searchFolder,
		"with --resource-source=search: folder with the address of ACM Search; files of the folder, for example the keys of a Secret, each optional: "+
			"url (https://…/searchapi/graphql; default: the hub's own Search, in the namespace of the MultiClusterHub), token "+
			"(default: the token of the pod's ServiceAccount), ca.crt (default: OpenShift's authority for Services in the pod, otherwise the "+
			"authorities of the system)")
}

// validate reads the folder, and returns all errors, with the flag and the file.
func (o *sourceOptions) validate() error {
	var errs []error
	for _, name := range o.sources {
		if !slices.Contains(controllers.Sources, name) {
			errs = append(errs, fmt.Errorf("--resource-source: there is no source %q: use %s, or nothing for the works' feedback alone",
				name, strings.Join(controllers.Sources, ", ")))
		}
	}
	searching := slices.Contains(o.sources, controllers.SourceSearch)
	switch {
	case o.searchFolder == "":
	case !searching:
		errs = append(errs, fmt.Errorf("--search: of use only with --resource-source=%s", controllers.SourceSearch))
	default:
		if err := o.read(); err != nil {
			errs = append(errs, fmt.Errorf("--search: %w", err))
		}
	}
	if _, err := os.Stat(o.search.TokenFile); searching && err != nil {
		errs = append(errs, fmt.Errorf("--search: no token: the folder has no file %s, and %w", searchTokenFile, err))
	}
	return errors.Join(errs...)
}

func (o *sourceOptions) read() error {
	if info, err := os.Stat(o.searchFolder); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", o.searchFolder)
	}
	o.search.CAFile = existing(o.searchFolder, searchCAFile)
	if token := existing(o.searchFolder, searchTokenFile); token != "" {
		o.search.TokenFile = token
	}
	if existing(o.searchFolder, searchURLFile) == "" {
		return nil
	}
	url, err := readSetting(o.searchFolder, searchURLFile)
	if err != nil {
		return err
	}
	if err := search.CheckURL(url); err != nil {
		return fmt.Errorf("%s: the address %w", filepath.Join(o.searchFolder, searchURLFile), err)
	}
	o.search.URL = url
	return nil
}
