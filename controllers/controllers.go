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
	"github.com/towline-io/towline/controllers/internal/events"
	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/controllers/internal/home"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/leaderless"
	"github.com/towline-io/towline/controllers/internal/pause"
	"github.com/towline-io/towline/controllers/internal/sets"
	"github.com/towline-io/towline/controllers/internal/tracking"
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
)

// Names are the controllers in the order of the data flow, as --controllers takes them.
var Names = []string{GitOpsCluster, Decisions, Placement, Propagation, Dependencies, Status, Aggregation, ResourceTree}

// The names of the controllers.
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

// Options say which controllers run, and how.
type Options struct {
	// Enabled are the names of the controllers to run.
	Enabled []string

	// Concurrency is how many objects each controller processes at a time.
	Concurrency int

	// Authorization says who may send what where.
	Authorization Authorization

	// Sources are the sources of facts to use beside the works' feedback; nil stands for DefaultSources.
	Sources []string

	// Search says how ACM Search is asked, where Sources has it.
	Search SearchOptions

	// AppNamespaces are the namespaces on clusters, by the cluster's name, of Applications that name none themselves. Cache must
	// have been given the same.
	AppNamespaces home.Namespaces

	// Move says how Applications change clusters.
	Move delivery.MoveOptions

	// Adopt says what becomes of an Application that is on its cluster already; empty stands for apis.AdoptMatching.
	Adopt string

	// AfterRestore is one of delivery.AfterRestoreModes; empty: the first.
	AfterRestore string

	// LossWindow is how long to look, after a start, whether so many Applications are missing that the hub has lost them; 0
	// stands for that of propagation.Reconciler.
	LossWindow time.Duration

	// CRDInterval is how often to look whether a CRD has been installed that a controller waits for; 0 stands for 5 s.
	CRDInterval time.Duration

	// Dependencies say what travels beside the Applications.
	Dependencies dependency.Options

	// ClusterClaims are the names of the ClusterClaims that go to Argo CD's cluster Secrets as labels.
	ClusterClaims []string

	// ClusterGrace is how long a Placement must have passed over a cluster before its Secret goes; 0 stands for
	// clusterimport.DefaultGrace.
	ClusterGrace time.Duration

	// TakeOverGitOpsClusters says that the older controller of GitOpsClusters has stopped for good.
	TakeOverGitOpsClusters bool

	// AppInfo serves Argo CD's metric argocd_app_info for Applications for pull.
	AppInfo bool

	// LiveResources lets argocd-server reach what Applications consist of where it has a way to their cluster that cannot end at the
	// hub; see tree.Path.
	LiveResources bool

	// Redis is Argo CD's; without its HostPort it is found by the objects of Argo CD's namespace.
	Redis argocache.Address
}

// Add registers the enabled controllers, and the indexes that they share, with a manager.
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
	recorder := events.Sparing(mgr.GetEventRecorder("towline"))
	pauses := &pause.Reader{Reader: mgr.GetClient()}
	marks := &tracking.Reader{Reader: mgr.GetClient(), Namespace: o.Dependencies.ArgoCDNamespace}
	beside := o.dependencies(mgr)
	beside.Grants, beside.Events, beside.Pauses, beside.Tracking = checker, recorder, pauses, marks
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
	}
	if slices.Contains(o.Enabled, Dependencies) {
		sender.Dependencies = beside
	}
	follower := &placement.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Events: recorder}
	setup := map[string]func(ctrl.Manager, int) error{
		GitOpsCluster: gitOpsCluster(ctx, o, indexDecisions),
		Decisions:     decisionsOf(o),          //nolint:contextcheck // watches run for as long as the manager
		Placement:     placements(o, follower), //nolint:contextcheck // the same
		Propagation:   watchingSets(sender, o.CRDInterval),
		Dependencies:  watchingSets(beside, o.CRDInterval),
		Status: (&status.Reconciler{
			Client: mgr.GetClient(), Live: o.AppNamespaces.Reader(mgr.GetAPIReader()), Inventory: inventory,
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

// addAppInfo adds the metric of the Applications, which every replica serves from its cache.
func addAppInfo(mgr ctrl.Manager) error {
	if err := leaderless.Hold(mgr.GetCache(), &argocd.Application{}, &workv1.ManifestWork{}); err != nil {
		return err
	}
	if err := metrics.Registry.Register(&appinfo.Collector{Reader: mgr.GetClient(), Leads: mgr.Elected()}); err != nil {
		return fmt.Errorf("metric argocd_app_info: %w", err)
	}
	return nil
}

// placements is the controller of Applications that follow a Placement; a hub may get Placements later.
func placements(o Options, r *placement.Reconciler) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		return whenServed(mgr, o.CRDInterval, Placement, placement.Kinds, func() error { return r.SetupWithManager(mgr, concurrency) })
	}
}

// reports is the controller of reports, on a hub that has their CRD or gets the CRD, from Towline or from others.
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

// resourceTree is the controller of what argocd-server is shown.
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

// trees has the agents' reports held with their trees, where they are among the sources; nil otherwise.
func trees(known []resourcesync.Source) resourcetree.Reports {
	for _, s := range known {
		if agent, ok := s.(*resourcesync.Agent); ok {
			agent.Trees = true
			return agent
		}
	}
	return nil
}

// dependencies is the controller of what travels beside Applications, without what it shares with others.
func (o Options) dependencies(mgr ctrl.Manager) *dependencies.Reconciler {
	return &dependencies.Reconciler{
		Client:   mgr.GetClient(),
		Live:     o.AppNamespaces.Reader(mgr.GetAPIReader()),
		Options:  o.Dependencies,
		Executor: o.Authorization.Executor,
	}
}

// indexGrants registers the indexes by which rights are checked, where Applications are sent or argocd-server gets access to clusters.
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

// setDefaults fills in what follows from other options.
func (o *Options) setDefaults() {
	o.Dependencies.ArgoCDNamespace = cmp.Or(o.Dependencies.ArgoCDNamespace, o.Authorization.ArgoCDNamespace, DefaultArgoCDNamespace)
	o.Dependencies.ClusterNamespace = cmp.Or(o.Dependencies.ClusterNamespace, o.Dependencies.ArgoCDNamespace)
}

// watchingSets sets up a controller that asks for ApplicationSets, on a hub that has them or gets them.
func watchingSets(r interface {
	SetupWithManager(mgr ctrl.Manager, concurrency int) error
	WatchSets(mgr ctrl.Manager) error
}, interval time.Duration) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		if err := r.SetupWithManager(mgr, concurrency); err != nil {
			return err
		}
		return whenServed(mgr, interval, "watch of ApplicationSets", sets.Kinds, func() error { return r.WatchSets(mgr) })
	}
}

// gitOpsCluster sets up the controller of GitOpsClusters on a hub that has what it works with.
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

// decisionsOf sets up the controller of decisions on a hub that has what it works with.
func decisionsOf(o Options) func(ctrl.Manager, int) error {
	return func(mgr ctrl.Manager, concurrency int) error {
		r := &decisions.Reconciler{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Home: cmp.Or(o.Authorization.ArgoCDNamespace, DefaultArgoCDNamespace),
		}
		return whenServed(mgr, o.CRDInterval, Decisions, decisions.Kinds, func() error { return r.SetupWithManager(mgr, concurrency) })
	}
}
