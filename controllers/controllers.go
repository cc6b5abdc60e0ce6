package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/towline-io/towline/controllers/aggregation"
	"github.com/towline-io/towline/controllers/appinfo"
	"github.com/towline-io/towline/controllers/decisions"
	"github.com/towline-io/towline/controllers/dependencies"
	"github.com/towline-io/towline/controllers/gitopscluster"
	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/informer"
	"github.com/towline-io/towline/controllers/internal/loop"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/controllers/placement"
	"github.com/towline-io/towline/controllers/propagation"
	"github.com/towline-io/towline/controllers/resourcesync"
	"github.com/towline-io/towline/controllers/resourcetree"
	"github.com/towline-io/towline/controllers/status"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/argocache"
	"github.com/towline-io/towline/pkg/clusterimport"
	"github.com/towline-io/towline/pkg/delivery"
	"github.com/towline-io/towline/pkg/dependency"
	"github.com/towline-io/towline/pkg/tracing"
)

// Names are the names of the controllers in the order of the data flow, for the flag --controllers.
var Names = []string{GitOpsCluster, Decisions, Placement, Propagation, Dependencies, Status, Aggregation, ResourceTree}

// Names of the controllers.
const (
	GitOpsCluster = "gitopscluster"
	Decisions     = "decisions"
	Placement     = "placement"
	Propagation   = "propagation"
	Dependencies  = "dependencies"
	Status        = "status"
	Aggregation   = "aggregation"
	ResourceTree  = "resourcetree"
)

// Options select and configure the controllers.
type Options struct {
	// Enabled are the names of the controllers to run.
	Enabled []string

	// Concurrency is the number of objects that each controller processes in parallel.
	Concurrency int

	// Authorization decides who may send Applications to which clusters and namespaces.
	Authorization Authorization

	// Sources are the enabled sources of facts, in addition to the feedback of the works. nil: DefaultSources.
	Sources []string

	// Search configures the queries to ACM Search. Search has no effect unless Sources contains SourceSearch.
	Search SearchOptions

	// AppNamespaces are the default namespaces of Applications on the clusters, by the name of the cluster. They apply
	// to Applications without a namespace of their own choice. Cache must get the same value.
	AppNamespaces settings.Namespaces

	// Move configures how Applications move between clusters.
	Move delivery.MoveOptions

	// Adopt is the rule for an Application with an existing Application of the same name on the cluster. Empty:
	// apis.AdoptMatching.
	Adopt string

	// AfterRestore is a value of delivery.AfterRestoreModes. Empty: the first value.
	AfterRestore string

	// LossWindow is how long Towline looks for further missing Applications, after the discovery of a missing
	// Application without a deletion event. Then Towline decides whether the hub has lost its Applications. 0: the
	// default of propagation.Reconciler.
	LossWindow time.Duration

	// CRDInterval is the interval of the check whether an awaited CRD is installed. 0: 5 s.
	CRDInterval time.Duration

	// Dependencies configure the objects that accompany the Applications to the clusters.
	Dependencies dependency.Options

	// ClusterClaims are the names of the ClusterClaims that become labels of the cluster Secrets of Argo CD.
	ClusterClaims []string

	// ClusterGrace is how long a Placement must have left out a cluster before Towline deletes the cluster's Secret. 0:
	// clusterimport.DefaultGrace.
	ClusterGrace time.Duration

	// TakeOverGitOpsClusters confirms that the older controller of GitOpsClusters has stopped for good.
	TakeOverGitOpsClusters bool

	// AppInfo enables Argo CD's metric argocd_app_info for Applications with the pull label.
	AppInfo bool

	// LiveResources gives argocd-server access to the live resources of Applications. The precondition is a connection
	// to the cluster that cannot end at the hub; see tree.Path.
	LiveResources bool

	// Tracer sends traces of deliveries; nil for no traces.
	Tracer *tracing.Tracer

	// Redis is the address of Argo CD's Redis. Without HostPort, Towline discovers Redis from the objects in the
	// namespace of Argo CD.
	Redis argocache.Address
}

// Add registers the enabled controllers and their shared indexes with a manager.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := index.Add(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	known, err := sources(ctx, mgr, o)
	if err != nil {
		return fmt.Errorf("sources: %w", err)
	}
	inventory := &resourcesync.Inventory{Sources: known}
	o.setDefaults()
	checker := o.Authorization.checker(mgr.GetClient())
	checker.Homes = o.AppNamespaces
	indexDecisions := sync.OnceValue(func() error { return index.AddDecisions(ctx, mgr.GetFieldIndexer()) })
	if err := indexGrants(ctx, mgr, o, checker, indexDecisions); err != nil {
		return err
	}
	recorder := loop.LimitEvents(mgr.GetEventRecorder("towline"))
	pauses := &settings.Pauses{Reader: mgr.GetClient()}
	marks := &settings.TrackingLabel{Reader: mgr.GetClient(), Namespace: o.Dependencies.ArgoCDNamespace}
	deps := o.dependencies(mgr)
	deps.Grants, deps.Events, deps.Pauses, deps.Tracking = checker, recorder, pauses, marks
	sender := &propagation.Reconciler{
		Client:   mgr.GetClient(),
		Pauses:   pauses,
		Tracking: marks,
		Live:     o.AppNamespaces.Reader(mgr.GetAPIReader()),
		Grants:   checker,
		Events:   recorder,
		Options: delivery.Options{
			Move:         o.Move,
			Adopt:        cmp.Or(o.Adopt, apis.AdoptMatching),
			Revocation:   o.Authorization.Revocation,
			AfterRestore: o.AfterRestore,
		},
		Executor:   o.Authorization.Executor,
		LossWindow: o.LossWindow,
		Tracer:     o.Tracer,
	}
	if slices.Contains(o.Enabled, Dependencies) {
		sender.Dependencies = deps
	}
	follower := &placement.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder}
	setup := map[string]func(ctrl.Manager, int) error{
		GitOpsCluster: gitOpsCluster(ctx, o, indexDecisions),
		Decisions:     decisionsOf(o),          //nolint:contextcheck // watches run for as long as the manager
		Placement:     placements(o, follower), //nolint:contextcheck // the same
		Propagation:   watchingSets(sender, o.CRDInterval),
		Dependencies:  watchingSets(deps, o.CRDInterval),
		Status: (&status.Reconciler{
			Client: mgr.GetClient(), Live: o.AppNamespaces.Reader(mgr.GetAPIReader()), Inventory: inventory, Tracer: o.Tracer,
		}).SetupWithManager,
		Aggregation: reports(o, &aggregation.Reconciler{
			Client:    mgr.GetClient(),
			Live:      o.AppNamespaces.Reader(mgr.GetAPIReader()),
			Inventory: inventory,
			Events:    recorder,
		}),
		ResourceTree: o.resourceTree(ctx, inventory, checker),
	}
	if o.AppInfo {
		if err := addAppInfo(mgr); err != nil { //nolint:contextcheck // the cache runs for as long as the manager
			return err
		}
	}
	for _, name := range Names {
		if !slices.Contains(o.Enabled, name) {
			continue
		}
		if err := setup[name](mgr, o.Concurrency); err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
	}
	return nil
}

// addAppInfo adds the metric of the Applications. Every replica serves the metric from its cache.
func addAppInfo(mgr ctrl.Manager) error {
	if err := informer.OnEveryReplica(mgr.GetCache(), &argocd.Application{}, &workv1.ManifestWork{}); err != nil {
		return err
	}
	if err := metrics.Registry.Register(&appinfo.Collector{Reader: mgr.GetClient(), Leads: mgr.Elected()}); err != nil {
		return fmt.Errorf("metric argocd_app_info: %w", err)
	}
	return nil
}

// placements sets up the controller for Applications with a Placement. The hub may install the Placement API later.
func placements(o Options, r *placement.Reconciler) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		return whenServed(mgr, o.CRDInterval, Placement, placement.Kinds, func() error { return r.SetupWithManager(mgr, concurrency) })
	}
}

// reports sets up the controller of reports. The CRD of reports may come from Towline or from another installation,
// also later.
func reports(o Options, r *aggregation.Reconciler) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		if err := aggregation.BringCRD(mgr); err != nil {
			return err
		}
		return whenServed(mgr, o.CRDInterval, Aggregation, aggregation.Kinds, func() error {
			return watchingSets(r, o.CRDInterval)(mgr, concurrency)
		})
	}
}

// resourceTree sets up the controller that writes the resource trees for argocd-server.
func (o Options) resourceTree(ctx context.Context, known *resourcesync.Inventory, checker *grants.Checker) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		home := cmp.Or(o.Authorization.ArgoCDNamespace, DefaultArgoCDNamespace)
		var source argocache.Source = o.Redis
		if o.Redis.HostPort == "" {
			source = &argocache.Found{Reader: mgr.GetAPIReader(), Namespace: home}
		}
		r := &resourcetree.Reconciler{
			Client: mgr.GetClient(), Store: argocache.NewRedis(source), Home: home, Inventory: known, Changes: known.Sources,
		}
		if o.LiveResources {
			paths, err := resourcetree.NewPaths(ctx, mgr, home)
			if err != nil {
				return err
			}
			r.Access = &resourcetree.Access{Reader: mgr.GetClient(), Paths: paths, Grants: checker, Reports: trees(known.Sources)}
		}
		return r.SetupWithManager(mgr, concurrency) //nolint:contextcheck // a cache holds for as long as the manager
	}
}

// trees makes the source of ApplicationReports keep the resource trees, and returns this source. The result is nil if
// the agents' reports are not among the sources.
func trees(known []resourcesync.Source) resourcetree.Reports {
	for _, s := range known {
		if agent, ok := s.(*resourcesync.Agent); ok {
			agent.Trees = true
			return agent
		}
	}
	return nil
}

// dependencies creates the controller of the Applications' dependencies. The caller adds the fields shared with other
// controllers.
func (o Options) dependencies(mgr ctrl.Manager) *dependencies.Reconciler {
	return &dependencies.Reconciler{
		Client:   mgr.GetClient(),
		Live:     o.AppNamespaces.Reader(mgr.GetAPIReader()),
		Options:  o.Dependencies,
		Executor: o.Authorization.Executor,
	}
}

// indexGrants registers the indexes for the permission checks. Only propagation and the resource tree with
// LiveResources need the indexes.
func indexGrants(ctx context.Context, mgr ctrl.Manager, o Options, checker *grants.Checker, decisions func() error) error {
	accesses := o.LiveResources && slices.Contains(o.Enabled, ResourceTree)
	if !accesses && !slices.Contains(o.Enabled, Propagation) {
		return nil
	}
	if err := checker.Setup(ctx, mgr.GetFieldIndexer(), decisions); err != nil {
		return fmt.Errorf("indexes of grants: %w", err)
	}
	return nil
}

// setDefaults derives the namespaces of Dependencies from the other options.
func (o *Options) setDefaults() {
	o.Dependencies.ArgoCDNamespace = cmp.Or(o.Dependencies.ArgoCDNamespace, o.Authorization.ArgoCDNamespace, DefaultArgoCDNamespace)
	o.Dependencies.ClusterNamespace = cmp.Or(o.Dependencies.ClusterNamespace, o.Dependencies.ArgoCDNamespace)
}

// watchingSets sets up a controller, and its watch of ApplicationSets as soon as the hub serves ApplicationSets.
func watchingSets(r interface {
	SetupWithManager(mgr ctrl.Manager, concurrency int) error
	WatchSets(mgr ctrl.Manager) error
}, interval time.Duration) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		if err := r.SetupWithManager(mgr, concurrency); err != nil {
			return err
		}
		return whenServed(mgr, interval, "watch of ApplicationSets", hub.ApplicationSetKinds, func() error { return r.WatchSets(mgr) })
	}
}

// gitOpsCluster sets up the controller of GitOpsClusters as soon as the hub serves all required kinds.
func gitOpsCluster(ctx context.Context, o Options, decisions func() error) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		r := &gitopscluster.Reconciler{
			Client: mgr.GetClient(),
			Live:   mgr.GetAPIReader(),
			Events: mgr.GetEventRecorder("towline"),

			Options:        clusterimport.Options{Claims: o.ClusterClaims, Grace: o.ClusterGrace, TakeOver: o.TakeOverGitOpsClusters},
			IndexDecisions: decisions,
		}
		return whenServed(mgr, o.CRDInterval, GitOpsCluster, gitopscluster.Kinds, func() error { return r.SetupWithManager(ctx, mgr, concurrency) })
	}
}

// decisionsOf sets up the controller of PlacementDecisions as soon as the hub serves all required kinds.
func decisionsOf(o Options) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		r := &decisions.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Home: cmp.Or(o.Authorization.ArgoCDNamespace, DefaultArgoCDNamespace),
		}
		return whenServed(mgr, o.CRDInterval, Decisions, decisions.Kinds, func() error { return r.SetupWithManager(mgr, concurrency) })
	}
}
