package dependency

import (
	"strings"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/source"
)

// Spec holds the fields of an Application's spec for the choice of dependencies.
type Spec struct {
	// Project is the name of the AppProject; empty if the spec is unreadable.
	Project string

	// Repositories are the normalized addresses of the sources. Invalid addresses are left out. If the cluster
	// reads the repositories through the hub, the addresses are at the cluster's agent.
	Repositories []string

	// Namespace is the namespace of the destination; empty if the destination names none.
	Namespace string

	// Elsewhere is the destination cluster; empty for the cluster of the Application itself.
	Elsewhere argocd.Destination

	// ApplicationNamespace is the namespace of the Application on its cluster.
	ApplicationNamespace string
}

// ReadSpec reads an Application and its requested operation. An unreadable Application has no dependencies. If only
// the operation is unreadable, ReadSpec reads the spec alone.
func ReadSpec(app *argocd.Application) Spec {
	request, err := authorization.Read(app)
	if err != nil {
		request, err = authorization.ReadSpec(app)
	}
	if err != nil {
		return Spec{}
	}
	out := Spec{
		Project: request.Project, Namespace: request.Namespace, Elsewhere: request.Elsewhere, ApplicationNamespace: app.ClusterNamespace(),
	}
	for _, repo := range request.Sources {
		if app.SourceAddress != "" && repo != "" {
			repo = source.At(app.SourceAddress, app.Project(), repo)
		}
		if u := authorization.NormalizeURL(repo); u != "" {
			out.Repositories = append(out.Repositories, u)
		}
	}
	return out
}

// Read reads an Application in its form for the cluster of the dependency.
func (f *Facts) Read(app *argocd.Application) Spec { return ReadSpec(f.Cluster.Reading(app)) }

// readSent reads an Application from a work.
func readSent(app *argocd.Application) Spec {
	out := ReadSpec(app)
	if request, err := authorization.ReadSent(app); err == nil {
		out.Elsewhere, out.ApplicationNamespace = request.Elsewhere, app.Namespace
	}
	return out
}

// Host returns the part of a normalized address up to the first slash of its path. Credentials are for such a host.
// Host is empty for an address without a host, for example "https:" and "https:/". Every address with the same scheme
// begins with that text.
func Host(normalized string) string {
	scheme, rest, ok := strings.Cut(normalized, "://")
	if !ok || strings.ContainsAny(scheme, "/@:") { // the path of an address without a scheme may contain "://"
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
