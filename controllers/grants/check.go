package grants

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/index"
	"github.com/towline-io/towline/controllers/internal/gone"
	"github.com/towline-io/towline/controllers/internal/hubside"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// Objects are got one by one only past the cache, before something is deleted.
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersetbindings;placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,namespace=argocd,resources=appprojects,verbs=get;list;watch

// The ways to give a namespace clusters.
const (
	// BindingOrPlacement takes a ManagedClusterSetBinding as well as a PlacementDecision for a grant.
	BindingOrPlacement = "binding-or-placement"

	// Placement takes a PlacementDecision for a grant: what a Placement of the namespace has chosen, and no more.
	Placement = "placement"

	// None lets every namespace use every cluster.
	None = "none"
)

// ClusterModes are all ways to give a namespace clusters, the default first.
var ClusterModes = []string{BindingOrPlacement, Placement, None}

// Checker tells whether Applications may go where they ask to go.
type Checker struct {
	// Reader reads the grants.
	Reader client.Reader

	// Unindexed is set when Reader is not a cache with the indexes of Setup.
	Unindexed bool

	// Clusters is one of ClusterModes.
	Clusters string

	// ArgoCDNamespace is the namespace of the hub's Argo CD, where the AppProjects are.
	ArgoCDNamespace string

	// NamespaceRules let Applications choose their namespace on a cluster.
	NamespaceRules []authorization.NamespaceRule

	// Carried is set where it matters what works carry, beside what Applications ask for: a change of their rights
	// wakes the Applications of those works too.
	Carried bool
}

// Past is the same checker past the cache.
func (c *Checker) Past(live client.Reader) *Checker {
	past := *c
	past.Reader, past.Unindexed = live, true
	return &past
}

// Check is the refusal of what an Application asks for, on a cluster that exists; nil when it may have it. An error
// means that nothing is known of its rights.
func (c *Checker) Check(
	ctx context.Context, app *argocd.Application, request authorization.Request, cluster *clusterv1.ManagedCluster,
) (*authorization.Refusal, error) {
	if refusal, err := c.CheckPlace(ctx, app, cluster); refusal != nil || err != nil {
		return refusal, err
	}
	project, err := c.Project(ctx, request.Project)
	if err != nil {
		return nil, err
	}
	if project == nil {
		return authorization.NoProject(request.Project, c.ArgoCDNamespace), nil
	}
	annotations, err := hubside.Annotations(ctx, c.Reader, cluster.Name)
	if err != nil {
		return nil, err
	}
	return authorization.Project(project, app.Namespace, c.ArgoCDNamespace, request, authorization.Describe(cluster, annotations)), nil
}

// CheckPlace is the refusal of the cluster, and of the namespace that an Application is to have there, whatever its
// spec says.
func (c *Checker) CheckPlace(
	ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster,
) (*authorization.Refusal, error) {
	if refusal := authorization.Namespace(app, c.ArgoCDNamespace, c.NamespaceRules); refusal != nil {
		return refusal, nil
	}
	return c.checkCluster(ctx, app.Namespace, cluster)
}

// Project is the AppProject of that name; nil when there is none. It is the cache's own: not to be changed.
func (c *Checker) Project(ctx context.Context, name string) (*argocd.AppProject, error) {
	project := &argocd.AppProject{}
	err := c.get(ctx, types.NamespacedName{Namespace: c.ArgoCDNamespace, Name: name}, project)
	if gone.Is(err) {
		return nil, nil
	}
	return project, err
}

func (c *Checker) checkCluster(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
	if c.Clusters == None {
		return nil, nil
	}
	if c.Clusters != Placement {
		if bound, err := c.bound(ctx, namespace, cluster); bound || err != nil {
			return nil, err
		}
	}
	if decided, err := c.decided(ctx, namespace, cluster.Name); decided || err != nil {
		return nil, err
	}
	sets, err := c.setsOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return authorization.NoGrant(cluster.Name, namespace, sets, c.Clusters != Placement), nil
}

// bound tells whether a ManagedClusterSetBinding of the namespace is for a set that holds the cluster.
func (c *Checker) bound(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster) (bool, error) {
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	if err := c.list(ctx, bindings, client.InNamespace(namespace)); err != nil {
		return false, err
	}
	for i := range bindings.Items {
		set := &clusterv1beta2.ManagedClusterSet{}
		err := c.get(ctx, types.NamespacedName{Name: bindings.Items[i].Spec.ClusterSet}, set)
		if err != nil && !gone.Is(err) {
			return false, err
		}
		if err == nil && authorization.Holds(set, cluster) {
			return true, nil
		}
	}
	return false, nil
}

// decided tells whether a PlacementDecision of the namespace names the cluster.
func (c *Checker) decided(ctx context.Context, namespace, cluster string) (bool, error) {
	decisions := &clusterv1beta1.PlacementDecisionList{}
	options := []client.ListOption{client.InNamespace(namespace)}
	if !c.Unindexed {
		options = append(options, client.MatchingFields{index.ByDecision: cluster})
	}
	if err := c.list(ctx, decisions, options...); err != nil {
		return false, err
	}
	return slices.ContainsFunc(decisions.Items, func(d clusterv1beta1.PlacementDecision) bool {
		return slices.Contains(index.DecidedBy(&d), cluster)
	}), nil
}

// setsOf are the names of the sets that hold the cluster.
func (c *Checker) setsOf(ctx context.Context, cluster *clusterv1.ManagedCluster) ([]string, error) {
	sets := &clusterv1beta2.ManagedClusterSetList{}
	if err := c.list(ctx, sets); err != nil {
		return nil, err
	}
	var names []string
	for i := range sets.Items {
		if authorization.Holds(&sets.Items[i], cluster) {
			names = append(names, sets.Items[i].Name)
		}
	}
	return names, nil
}

// get and list share what they return with the cache.
func (c *Checker) get(ctx context.Context, key types.NamespacedName, into client.Object) error {
	return c.Reader.Get(ctx, key, into, client.UnsafeDisableDeepCopy)
}

func (c *Checker) list(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return c.Reader.List(ctx, into, append(options, client.UnsafeDisableDeepCopy)...)
}
