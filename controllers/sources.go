package controllers

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/search"
)

// The names of the sources that can be chosen. The works' feedback is always there.
const (
	SourceAgent  = "agent"
	SourceSearch = "search"
)

// Sources are all sources that can be chosen, the richest first.
var Sources = []string{SourceAgent, SourceSearch}

// DefaultSources are those that cost nothing where they have nothing to say.
var DefaultSources = []string{SourceAgent}

// The files of a pod's own ServiceAccount. OpenShift adds the authority of its Services' certificates.
const (
	DefaultTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // the name of a file
	serviceCAFile    = "/var/run/secrets/kubernetes.io/serviceaccount/service-ca.crt"
)

// DefaultSearchInterval is how often search is asked.
const DefaultSearchInterval = 10 * time.Second

// SearchOptions say how ACM Search is asked. The zero value asks the hub's own.
type SearchOptions struct {
	// URL is its address; empty: as discovered.
	URL string

	// CAFile holds the authorities to trust; empty: OpenShift's for Services where there is one, else the system's.
	CAFile string

	// TokenFile holds the token to show; empty: the pod's own.
	TokenFile string

	// Interval is how often it is asked; 0: DefaultSearchInterval.
	Interval time.Duration

	// Patience is that of resourcesync.Search; 0: resourcesync.DefaultPatience.
	Patience time.Duration
}

// sources are where the facts of the inventory come from, the richest first.
func sources(ctx context.Context, mgr ctrl.Manager, o Options) ([]resourcesync.Source, error) {
	chosen := o.Sources
	if chosen == nil {
		chosen = DefaultSources
	}
	var out []resourcesync.Source
	if slices.Contains(chosen, SourceAgent) {
		agents, err := agentSource(ctx, mgr)
		if err != nil {
			return nil, err
		}
		out = append(out, agents...)
	}
	out = append(out, &resourcesync.Feedback{Client: mgr.GetClient(), Cache: mgr.GetCache()})
	if slices.Contains(chosen, SourceSearch) {
		s := searchSource(mgr, o.Search)
		if err := mgr.Add(s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// agentSource is empty on a hub without the CRD of ApplicationReports: it has no agents' reports, and everything
// else works.
func agentSource(ctx context.Context, mgr ctrl.Manager) ([]resourcesync.Source, error) {
	kind := v1alpha1.GroupVersion.WithKind("ApplicationReport")
	switch _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); {
	case err == nil:
		agent, err := resourcesync.NewAgent(ctx, mgr)
		return []resourcesync.Source{agent}, err
	case meta.IsNoMatchError(err):
		ctrl.Log.Info("The hub has no CRD for ApplicationReports: what agents on the clusters would report is not looked for until a restart")
		return nil, nil
	default:
		return nil, err
	}
}

func searchSource(mgr ctrl.Manager, o SearchOptions) *resourcesync.Search {
	config := search.Config{
		URL:       resourcesync.NewDiscovery(mgr.GetAPIReader()).URL,
		CAFile:    o.CAFile,
		TokenFile: cmp.Or(o.TokenFile, DefaultTokenFile),
	}
	if o.URL != "" {
		config.URL = search.Fixed(o.URL)
	}
	if _, err := os.Stat(serviceCAFile); config.CAFile == "" && err == nil {
		config.CAFile = serviceCAFile
	}
	s := resourcesync.NewSearch(mgr.GetClient(), search.New(config), cmp.Or(o.Interval, DefaultSearchInterval))
	s.Patience = cmp.Or(o.Patience, s.Patience)
	return s
}
