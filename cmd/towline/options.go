package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/controllers"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
	"github.com/towline-io/towline/pkg/delivery"
)

// options are the flags of `towline controller`.
type options struct {
	common
	sourceOptions
	authorizationOptions
	redisOptions
	dependencyOptions

	controllers []string
	concurrency int

	leaderElect bool

	clusterClaims []string

	appInfo                bool
	takeOverGitOpsClusters bool
	move                   delivery.MoveOptions
	adopt                  string
	afterRestore           string
}

// defaultConcurrency keeps some requests to the API server running all the time. Between requests, the controllers
// only compute for microseconds.
const defaultConcurrency = 16

// maxMoveTimeout limits a mistaken unit, which could leave an Application on two clusters for good.
const maxMoveTimeout = 7 * 24 * time.Hour

// adoptions are the values of --adopt.
var adoptions = []string{apis.AdoptNever, apis.AdoptMatching, apis.AdoptAlways}

func newOptions() *options {
	return &options{
		common:        newCommon(),
		sourceOptions: newSourceOptions(),

		authorizationOptions: newAuthorizationOptions(),
		dependencyOptions:    newDependencyOptions(),

		controllers:  []string{"*"},
		concurrency:  defaultConcurrency,
		leaderElect:  true,
		move:         delivery.MoveOptions{Order: apis.MoveNewFirst, Timeout: 10 * time.Minute},
		adopt:        apis.AdoptMatching,
		afterRestore: delivery.AfterRestoreModes[0],
	}
}

// addFlags registers a flag for every option.
func (o *options) addFlags(fs *pflag.FlagSet) {
	o.common.addFlags(fs, "hub")
	o.sourceOptions.addFlags(fs)
	o.authorizationOptions.addFlags(fs)
	o.redisOptions.addFlags(fs)
	o.dependencyOptions.addFlags(fs)
	fs.StringSliceVar(&o.controllers, "controllers", o.controllers,
		"controllers to run; \"*\" runs all of them: "+strings.Join(controllers.Names, ", "))
	fs.IntVar(&o.concurrency, "concurrency", o.concurrency, "how many objects each controller processes at the same time")
	fs.StringSliceVar(&o.clusterClaims, "cluster-claims", o.clusterClaims,
		"names of the ClusterClaims to copy to labels of Argo CD's cluster Secrets, in addition to the labels of the ManagedCluster")
	fs.BoolVar(&o.appInfo, "argocd-app-info", o.appInfo,
		"serve Argo CD's metric argocd_app_info for Applications for pull, with a series for each Application")
	fs.BoolVar(&o.takeOverGitOpsClusters, "take-over-gitopsclusters", false,
		"take over the GitOpsClusters and cluster Secrets of the controller of multicluster-integrations; set the flag after the controller has "+
			"stopped for good; otherwise Towline leaves the GitOpsClusters and cluster Secrets unchanged")
	fs.StringVar(&o.move.Order, "move-order", o.move.Order,
		"the first cluster in a move of an Application: "+apis.MoveNewFirst+" (deploy to the new cluster, then remove from the old cluster) or "+
			apis.MoveOldFirst+" (remove from the old cluster, then deploy to the new cluster)")
	fs.DurationVar(&o.move.Timeout, "move-timeout", o.move.Timeout,
		"how long the old cluster keeps an Application that is applied but not healthy on the new cluster")
	fs.StringVar(&o.adopt, "adopt", o.adopt,
		"whether to take over an existing Application of the cluster: never, matching (only if no field of a different writer would change), always")
	fs.StringVar(&o.afterRestore, "after-restore", o.afterRestore,
		"the handling of ManifestWorks if the hub has lost the Applications, for example after the restore of an old backup: hold "+
			"(Towline keeps the works), adopt (Towline releases the works, and the clusters keep all objects), delete (Towline removes the "+
			"Applications from the clusters, and the workloads stay)")
	fs.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect,
		"elect a leader, so that only one of several replicas works at a time; the Lease is in the namespace of the pod, or in "+
			"--argocd-namespace outside a pod")
}

// validate returns all errors in the options, with the flag and the accepted values.
func (o *options) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if len(o.enabled()) == 0 {
		fail("--controllers: name at least one of %s, or \"*\"", strings.Join(controllers.Names, ", "))
	}
	for _, name := range o.controllers {
		if name != "*" && !slices.Contains(controllers.Names, name) {
			fail("--controllers: there is no controller %q: use %s, or \"*\"", name, strings.Join(controllers.Names, ", "))
		}
	}
	if on := o.enabled(); slices.Contains(on, controllers.Dependencies) && !slices.Contains(on, controllers.Propagation) {
		fail("--controllers: %s goes by what %s reads: name both", controllers.Dependencies, controllers.Propagation)
	}
	if o.concurrency < 1 || o.concurrency > 1000 {
		fail("--concurrency: %d is not between 1 and 1000", o.concurrency)
	}
	for _, claim := range o.clusterClaims {
		if problems := validation.IsQualifiedName(claim); len(problems) > 0 {
			fail("--cluster-claims: %q cannot be a label: %s", claim, strings.Join(problems, "; "))
		} else if !clustersecret.Follows(claim) {
			fail("--cluster-claims: a label %q would mean something else to Argo CD", claim)
		}
	}
	if o.move.Order != apis.MoveNewFirst && o.move.Order != apis.MoveOldFirst {
		fail("--move-order: %q is neither %s nor %s", o.move.Order, apis.MoveNewFirst, apis.MoveOldFirst)
	}
	if !slices.Contains(adoptions, o.adopt) {
		fail("--adopt: %q is not one of %s", o.adopt, strings.Join(adoptions, ", "))
	}
	if !slices.Contains(delivery.AfterRestoreModes, o.afterRestore) {
		fail("--after-restore: %q is not one of %s", o.afterRestore, strings.Join(delivery.AfterRestoreModes, ", "))
	}
	if o.move.Timeout < 0 || o.move.Timeout > maxMoveTimeout {
		fail("--move-timeout: %s is not between 0 and %s", o.move.Timeout, maxMoveTimeout)
	}
	return errors.Join(append(errs, o.common.validate(), o.sourceOptions.validate(), o.authorizationOptions.validate(),
		o.redisOptions.validate(), o.dependencyOptions.validate())...)
}

// enabled returns the controllers to run, in the order of the data flow.
func (o *options) enabled() []string {
	if slices.Contains(o.controllers, "*") {
		return controllers.Names
	}
	var out []string
	for _, name := range controllers.Names {
		if slices.Contains(o.controllers, name) {
			out = append(out, name)
		}
	}
	return out
}
