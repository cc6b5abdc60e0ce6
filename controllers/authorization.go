package controllers

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/grants"
	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/delivery"
)

// DefaultArgoCDNamespace is the namespace of Argo CD on a hub without an explicit setting.
const DefaultArgoCDNamespace = apis.DefaultArgoCDNamespace

// ClusterModes are the valid values of Authorization.Clusters. The first value is the strictest.
var ClusterModes = grants.ClusterModes

// Authorization decides who may send Applications to which clusters and namespaces. The zero value is the strictest.
type Authorization struct {
	// Clusters is a value of ClusterModes. Empty: the first value.
	Clusters string

	// ArgoCDNamespace is the namespace of the hub's Argo CD. Empty: DefaultArgoCDNamespace.
	ArgoCDNamespace string

	// NamespaceRules let Applications of other hub namespaces choose their namespace on a cluster.
	NamespaceRules []authorization.NamespaceRule

	// Executor is the ServiceAccount on the clusters whose rights apply to a work. With the zero value, works name no
	// executor. An AppProject may name a different ServiceAccount.
	Executor types.NamespacedName

	// Revocation decides what happens to an Application that loses the permission for its cluster or namespace.
	Revocation delivery.RevocationOptions
}

func (a Authorization) checker(c client.Reader) *grants.Checker {
	return &grants.Checker{
		Reader:          c,
		Clusters:        cmp.Or(a.Clusters, grants.ClusterModes[0]),
		ArgoCDNamespace: cmp.Or(a.ArgoCDNamespace, DefaultArgoCDNamespace),
		NamespaceRules:  a.NamespaceRules,
	}
}
