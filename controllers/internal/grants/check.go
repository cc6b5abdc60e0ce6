package grants

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/controllers/internal/index"
	"github.com/towline-io/towline/controllers/internal/settings"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// Objects are read with "get" only past the cache, before a deletion.
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersets,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclustersetbindings;placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=argoproj.io,namespace=argocd,resources=appprojects,verbs=get;list;watch

// The modes of granting clusters to a namespace.
const (
	// BindingOrPlacement accepts a ManagedClusterSetBinding or a PlacementDecision as a grant.
	BindingOrPlacement = "binding-or-placement"

	// Placement accepts only a PlacementDecision as a grant: the clusters chosen by a Placement of the namespace.
	Placement = "placement"

	// None lets every namespace use every cluster.
	None = "none"
)

// ClusterModes are all modes of granting clusters to a namespace, the default first.
var ClusterModes = []string{BindingOrPlacement, Placement, None}

// Checker decides whether Applications may go to the requested cluster, namespace and project.
type Checker struct {
	// Reader reads the grants.
	Reader client.Reader

	// Unindexed is true if Reader is not a cache with the indexes of Setup.
	Unindexed bool

	// Clusters is one of ClusterModes.
	Clusters string

	// ArgoCDNamespace is the namespace of the hub's Argo CD, where the AppProjects are.
	ArgoCDNamespace string

	// NamespaceRules let Applications choose their namespace on a cluster.
	NamespaceRules []authorization.NamespaceRule

	// Homes are the namespaces that administrators chose for Applications on a cluster. For a sent Application, the
	// cluster of the sent Application counts, and the hub Application may name a different cluster now.
	Homes settings.Namespaces
}

// Past returns a copy of the Checker with a reader past the cache.
func (c *Checker) Past(live client.Reader) *Checker {
	past := *c
	past.Reader, past.Unindexed = live, true
	return &past
}

// Check returns the refusal of an Application's request on an existing cluster, or nil if the request is allowed. After
// an error, the Application's rights are unknown.
func (c *Checker) Check(
	ctx context.Context, app *argocd.Application, request authorization.Request, cluster *clusterv1.ManagedCluster,
) (*authorization.Refusal, error) {
	rights, err := c.Rights(ctx, app, request.Project, cluster, "")
	if err != nil {
		return nil, err
	}
	return rights.Refusal(request), nil
}

// Rights are an Application's rights on a cluster at one moment.
type Rights struct {
	// GrantedBy is the name of the ManagedClusterSetBinding that grants the cluster, empty without such a binding.
	GrantedBy string

	refusal func(authorization.Request) *authorization.Refusal
}

// Refusal returns the refusal of a request of the Application with the AppProject of the rights, or nil if the request is
// allowed.
func (r Rights) Refusal(request authorization.Request) *authorization.Refusal {
	return r.refusal(request)
}

// Rights returns the rights of an Application of an AppProject on an existing cluster. Of several granting bindings, the
// binding named before counts if the binding still grants the cluster, otherwise the first by name.
//
// Rights reads each object once, so the answers never contradict each other: a cluster with a named binding is not
// refused for a missing grant, and an operation is never refused for a right that the spec has.
func (c *Checker) Rights(
	ctx context.Context, app *argocd.Application, project string, cluster *clusterv1.ManagedCluster, before string,
) (rights Rights, err error) {
	if rights.GrantedBy, err = c.grantedBy(ctx, app.Namespace, cluster, before); err != nil {
		return Rights{}, err
	}
	granted := func(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
		if rights.GrantedBy != "" {
			return nil, nil
		}
		return c.unbound(ctx, app, cluster)
	}
	for _, ask := range []check{c.namespace, granted} {
		refusal, err := ask(ctx, app, cluster)
		if err != nil {
			return Rights{}, err
		}
		if refusal != nil {
			rights.refusal = func(authorization.Request) *authorization.Refusal { return refusal }
			return rights, nil
		}
	}
	rights.refusal, err = c.rules(ctx, project, app, cluster)
	return rights, err
}

// CheckSent returns the refusal of an Application already sent to an existing cluster, or nil if the Application may
// stay. A refusal by a rule has priority over a refusal because of a missing object. request is the request of the sent
// Application, or nil if the request is unknown. grantedBy names the ManagedClusterSetBinding that granted the cluster,
// or is empty.
func (c *Checker) CheckSent(
	ctx context.Context, app *argocd.Application, request *authorization.Request, cluster *clusterv1.ManagedCluster, grantedBy string,
) (*authorization.Refusal, error) {
	checks := []check{c.namespace, c.lent(grantedBy)}
	if request != nil {
		checks = append(checks, c.project(*request))
	}
	var missing *authorization.Refusal
	for _, ask := range checks {
		refusal, err := ask(ctx, app, cluster)
		switch {
		case err != nil:
			return nil, err
		case refusal != nil && refusal.Missing == "":
			return refusal, nil
		case missing == nil:
			missing = refusal
		}
	}
	return missing, nil
}

// check is a single check of an Application's rights on a cluster.
type check func(context.Context, *argocd.Application, *clusterv1.ManagedCluster) (*authorization.Refusal, error)

func (c *Checker) namespace(_ context.Context, app *argocd.Application, _ *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
	return authorization.Namespace(app, c.ArgoCDNamespace, c.Homes[app.Cluster()], c.NamespaceRules), nil
}

// project returns the check of a request by the AppProject.
func (c *Checker) project(request authorization.Request) check {
	return func(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
		permits, err := c.rules(ctx, request.Project, app, cluster)
		if err != nil {
			return nil, err
		}
		return permits(request), nil
	}
}

// rules reads the named AppProject, and returns the function that checks requests of an Application by the AppProject.
func (c *Checker) rules(
	ctx context.Context, name string, app *argocd.Application, cluster *clusterv1.ManagedCluster,
) (func(authorization.Request) *authorization.Refusal, error) {
	project, err := c.Project(ctx, name)
	if err != nil {
		return nil, err
	}
	if project == nil {
		return func(authorization.Request) *authorization.Refusal {
			return authorization.NoProject(name, app.Namespace, c.ArgoCDNamespace)
		}, nil
	}
	annotations, err := settings.ClusterAnnotations(ctx, c.Reader, cluster.Name)
	if err != nil {
		return nil, err
	}
	described := authorization.Describe(cluster, annotations)
	return func(request authorization.Request) *authorization.Refusal {
		refusal := authorization.Project(project, app.Namespace, c.ArgoCDNamespace, request, described)
		if refusal != nil && !project.DeletionTimestamp.IsZero() {
			refusal.Missing = "AppProject " + project.Namespace + "/" + project.Name + " (being deleted)"
		}
		return refusal
	}, nil
}

// Project returns the named AppProject, or nil if the AppProject does not exist. The AppProject is shared with the
// cache: the caller must not change the AppProject.
func (c *Checker) Project(ctx context.Context, name string) (*argocd.AppProject, error) {
	project := &argocd.AppProject{}
	err := c.get(ctx, types.NamespacedName{Namespace: c.ArgoCDNamespace, Name: name}, project)
	if hub.IsAbsent(err) {
		return nil, nil
	}
	return project, err
}

// cluster returns the refusal if the Application's namespace has no grant for the cluster.
func (c *Checker) cluster(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
	if by, err := c.grantedBy(ctx, app.Namespace, cluster, ""); by != "" || err != nil {
		return nil, err
	}
	return c.unbound(ctx, app, cluster)
}

// unbound is cluster for a namespace without a granting ManagedClusterSetBinding.
func (c *Checker) unbound(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
	if c.Clusters == None {
		return nil, nil
	}
	if decided, err := c.decided(ctx, app.Namespace, cluster.Name); decided || err != nil {
		return nil, err
	}
	sets, err := c.setsOf(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return authorization.NoGrant(cluster.Name, app.Namespace, sets, c.bindings()), nil
}

// lent returns a check like cluster, for a cluster that the named ManagedClusterSetBinding granted before.
func (c *Checker) lent(binding string) check {
	return func(ctx context.Context, app *argocd.Application, cluster *clusterv1.ManagedCluster) (*authorization.Refusal, error) {
		refusal, err := c.cluster(ctx, app, cluster)
		if refusal == nil || err != nil || binding == "" || !c.bindings() {
			return refusal, err
		}
		named := types.NamespacedName{Namespace: app.Namespace, Name: binding}
		bindings, err := c.bindingsOf(ctx, app.Namespace)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(bindings, func(b clusterv1beta2.ManagedClusterSetBinding) bool { return b.Name == binding })
		if i < 0 {
			return authorization.Withdrawn(*refusal, named, nil, nil, cluster), nil
		}
		set, err := c.set(ctx, bindings[i].Spec.ClusterSet)
		if err != nil {
			return nil, err
		}
		return authorization.Withdrawn(*refusal, named, &bindings[i], set, cluster), nil
	}
}

// bindings returns true if a ManagedClusterSetBinding counts as a grant.
func (c *Checker) bindings() bool { return c.Clusters != None && c.Clusters != Placement }

// grantedBy returns the name of a ManagedClusterSetBinding in the namespace whose set holds the cluster, or an empty
// string. Of several bindings, the binding named before has priority, then the first by name.
func (c *Checker) grantedBy(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster, before string) (string, error) {
	if !c.bindings() {
		return "", nil
	}
	bindings, err := c.bindingsOf(ctx, namespace)
	if err != nil {
		return "", err
	}
	first := ""
	for i := range bindings {
		name := bindings[i].Name
		if first != "" && name != before && name > first {
			continue
		}
		set, err := c.set(ctx, bindings[i].Spec.ClusterSet)
		switch {
		case err != nil:
			return "", err
		case set == nil || !authorization.HasCluster(set, cluster):
		case name == before:
			return name, nil
		default:
			first = name
		}
	}
	return first, nil
}

func (c *Checker) bindingsOf(ctx context.Context, namespace string) ([]clusterv1beta2.ManagedClusterSetBinding, error) {
	bindings := &clusterv1beta2.ManagedClusterSetBindingList{}
	err := c.list(ctx, bindings, client.InNamespace(namespace))
	return bindings.Items, err
}

// set returns the named ManagedClusterSet, or nil if the set does not exist. The set is shared with the cache: the
// caller must not change the set.
func (c *Checker) set(ctx context.Context, name string) (*clusterv1beta2.ManagedClusterSet, error) {
	set := &clusterv1beta2.ManagedClusterSet{}
	err := c.get(ctx, types.NamespacedName{Name: name}, set)
	if hub.IsAbsent(err) {
		return nil, nil
	}
	return set, err
}

// decided returns true if a PlacementDecision of the namespace names the cluster.
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

// setsOf returns the names of the ManagedClusterSets that hold the cluster.
func (c *Checker) setsOf(ctx context.Context, cluster *clusterv1.ManagedCluster) ([]string, error) {
	sets := &clusterv1beta2.ManagedClusterSetList{}
	if err := c.list(ctx, sets); err != nil {
		return nil, err
	}
	var names []string
	for i := range sets.Items {
		if authorization.HasCluster(&sets.Items[i], cluster) {
			names = append(names, sets.Items[i].Name)
		}
	}
	return names, nil
}

// get and list share the returned objects with the cache.
func (c *Checker) get(ctx context.Context, key types.NamespacedName, into client.Object) error {
	return c.Reader.Get(ctx, key, into, client.UnsafeDisableDeepCopy)
}

func (c *Checker) list(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return c.Reader.List(ctx, into, append(options, client.UnsafeDisableDeepCopy)...)
}
