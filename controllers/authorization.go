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

// DefaultArgoCDNamespace is where Argo CD is on a hub that says nothing else.
const DefaultArgoCDNamespace = apis.DefaultArgoCDNamespace

// ClusterModes are what Authorization.Clusters may be; the first is the strictest.
var ClusterModes = grants.ClusterModes

// Authorization says who may send what where. The zero value is the strictest.
type Authorization struct {
	// Clusters is one of ClusterModes; empty: the first.
	Clusters string

	// ArgoCDNamespace is the namespace of the hub's Argo CD; empty: DefaultArgoCDNamespace.
	ArgoCDNamespace string

	// NamespaceRules let Applications of other namespaces choose their namespace on a cluster.
	NamespaceRules []authorization.NamespaceRule

	// Executor is the ServiceAccount of the clusters whose rights a work needs; the zero value for none. An AppProject
	// may name another.
	Executor types.NamespacedName

	// Revocation says what becomes of an Application where it loses the right to be.
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
