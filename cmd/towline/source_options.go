package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/search"
)

// sourceOptions are the flags about where facts come from.
type sourceOptions struct {
	sources []string
	search  controllers.SearchOptions
}

// More often than once a second search is not asked: its index is seconds behind anyway. Less often than once an hour
// is as good as never.
const (
	minSearchInterval = time.Second
	maxSearchInterval = time.Hour
)

func newSourceOptions() sourceOptions {
	return sourceOptions{
		sources: controllers.DefaultSources,
		search:  controllers.SearchOptions{TokenFile: controllers.DefaultTokenFile, Interval: controllers.DefaultSearchInterval},
	}
}

func (o *sourceOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.sources, "resource-source", o.sources,
		"sources of the Applications' resources, in addition to the feedback of the ManifestWorks: "+strings.Join(controllers.Sources, ", "))
	fs.StringVar(&o.search.URL, "search-url", o.search.URL,
		"address of ACM Search, https://…/searchapi/graphql; default: the hub's own Search, in the namespace of its MultiClusterHub")
	fs.StringVar(&o.search.CAFile, "search-ca-file", o.search.CAFile,
		"PEM file with the certificate authorities for ACM Search; "+
			"default: OpenShift's authority for Services if the pod has it, otherwise those of the system")
	fs.StringVar(&o.search.TokenFile, "search-token-file", o.search.TokenFile,
		"file with the bearer token for ACM Search; default: the token of the pod's ServiceAccount")
	fs.DurationVar(&o.search.Interval, "search-interval", o.search.Interval, "how often Towline asks ACM Search")
}

// validate returns every mistake in the options, each with the flag and what it takes.
func (o *sourceOptions) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	for _, name := range o.sources {
		if !slices.Contains(controllers.Sources, name) {
			fail("--resource-source: there is no source %q: use %s, or nothing for the works' feedback alone",
				name, strings.Join(controllers.Sources, ", "))
		}
	}
	if o.search.Interval < minSearchInterval || o.search.Interval > maxSearchInterval {
		fail("--search-interval: %s is not between %s and %s", o.search.Interval, minSearchInterval, maxSearchInterval)
	}
	if o.search.URL != "" {
		if err := search.CheckURL(o.search.URL); err != nil {
			fail("--search-url: the address %w", err)
		}
	}
	if !slices.Contains(o.sources, controllers.SourceSearch) {
		return errors.Join(append(errs, o.unused()...)...)
	}
	for flag, file := range map[string]string{"search-ca-file": o.search.CAFile, "search-token-file": o.search.TokenFile} {
		if info, err := os.Stat(file); file != "" && err != nil {
			fail("--%s: %w", flag, err)
		} else if file != "" && info.IsDir() {
			fail("--%s: %s is a folder", flag, file)
		}
	}
	return errors.Join(errs...)
}

// unused are the flags that were given for nothing.
func (o *sourceOptions) unused() []error {
	var errs []error
	d := newSourceOptions().search
	for flag, given := range map[string]bool{
		"search-url": o.search.URL != d.URL, "search-ca-file": o.search.CAFile != d.CAFile,
		"search-token-file": o.search.TokenFile != d.TokenFile, "search-interval": o.search.Interval != d.Interval,
	} {
		if given {
			errs = append(errs, fmt.Errorf("--%s: of use only with --resource-source=%s", flag, controllers.SourceSearch))
		}
	}
	return errs
}
