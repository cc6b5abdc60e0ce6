package dependency

import (
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// Spec is what of an Application's spec decides about its dependencies.
type Spec struct {
	// Project is the name of its AppProject; empty when the spec cannot be read.
	Project string

	// Repositories are the normalized addresses that it deploys from, without those that are none.
	Repositories []string

	// Namespace is that of its destination; empty when it names none.
	Namespace string

	// Elsewhere is the cluster that it deploys to; empty for the cluster that it arrives on.
	Elsewhere argocd.Destination

	// At is the namespace of the Application on its cluster.
	At string
}

// ReadSpec reads an Application, and the operation that it requests. What cannot be read asks for nothing.
func ReadSpec(app *argocd.Application) Spec {
	request, err := authorization.Read(app)
	if err != nil {
		request, err = authorization.ReadSpec(app)
	}
	if err != nil {
		return Spec{}
	}
	out := Spec{Project: request.Project, Namespace: request.Namespace, Elsewhere: request.Elsewhere, At: app.ClusterNamespace()}
	for _, source := range request.Sources {
		if u := authorization.NormalizeURL(source); u != "" {
			out.Repositories = append(out.Repositories, u)
		}
	}
	return out
}

// readSent reads an Application as a work carries it.
func readSent(app *argocd.Application) Spec {
	out := ReadSpec(app)
	if request, err := authorization.ReadSent(app); err == nil {
		out.Elsewhere, out.At = request.Elsewhere, app.Namespace
	}
	return out
}

// Host is the part of a normalized address up to the first slash of its path: where credentials are for. Host is empty for an
// address that ends before its host does, as "https:" and "https:/" do: every address with that scheme begins with them.
func Host(normalized string) string {
	scheme, rest, ok := strings.Cut(normalized, "://")
	if !ok || strings.ContainsAny(scheme, "/@:") { // the path of an address without a scheme may have "://" in it
		host, _, _ := strings.Cut(normalized, "/")
		if strings.HasSuffix(host, ":") {
			return ""
		}
		return host
	}
	host, _, _ := strings.Cut(rest, "/")
	if host == "" {
		return ""
	}
	return scheme + "://" + host
}
