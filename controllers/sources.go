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

// Names of the optional sources. The feedback of the works is always a source.
const (
	SourceAgent  = "agent"
	SourceSearch = "search"
)

// Sources are all optional sources, the most detailed source first.
var Sources = []string{SourceAgent, SourceSearch}

// DefaultSources cost nothing on a hub without their data.
var DefaultSources = []string{SourceAgent}

// Files of a pod's own ServiceAccount. OpenShift adds the certificate authority of its Services.
const (
	DefaultTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // the name of a file
	serviceCAFile    = "/var/run/secrets/kubernetes.io/serviceaccount/service-ca.crt"
)

// defaultSearchInterval is the default interval between two queries to ACM Search.
const defaultSearchInterval = 10 * time.Second

// SearchOptions configure the queries to ACM Search. The zero value queries the hub's own ACM Search.
type SearchOptions struct {
	// URL is the address of ACM Search. Empty: the discovered address.
	URL string

	// CAFile holds the trusted certificate authorities. Empty: the authority of OpenShift's Services if the file
	// exists, otherwise the authorities of the system.
	CAFile string

	// TokenFile holds the bearer token. Empty: the token of the pod.
	TokenFile string

	// Interval is the time between two queries. 0: defaultSearchInterval.
	Interval time.Duration

	// Patience is the Patience of resourcesync.Search. 0 means a default.
	Patience time.Duration
}

// sources returns the sources of the inventory's facts, the most detailed source first.
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

// agentSource returns no source on a hub without the CRD of ApplicationReports. The hub then has no agents' reports,
// and everything else works.
func agentSource(ctx context.Context, mgr ctrl.Manager) ([]resourcesync.Source, error) {
	kind := v1alpha1.GroupVersion.WithKind("ApplicationReport")
	switch _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); {
	case err == nil:
		agent, err := resourcesync.NewAgent(ctx, mgr)
		return []resourcesync.Source{agent}, err
	case meta.IsNoMatchError(err):
		ctrl.Log.Info("The hub has no CRD for ApplicationReports: Towline reads no reports of agents until a restart")
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
	s := resourcesync.NewSearch(mgr.GetClient(), search.New(config), cmp.Or(o.Interval, defaultSearchInterval))
	s.Patience = cmp.Or(o.Patience, s.Patience)
	return s
}
