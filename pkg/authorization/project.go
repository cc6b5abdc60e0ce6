package authorization

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Refusal is why an Application may not go to the requested destination, in words for the user who can permit it.
type Refusal struct {
	// Reason is one of the Reason… constants of package apis.
	Reason string

	// Message names the forbidding object, or the object that would permit the request.
	Message string

	// Missing names a missing object or a missing entry, if no rule forbids the request. It is empty if an existing
	// rule refuses the request: only such a refusal may remove a workload from the cluster.
	Missing string
}

// lacking sets the missing object of the refusal.
func (r *Refusal) lacking(format string, args ...any) *Refusal {
	r.Missing = fmt.Sprintf(format, args...)
	return r
}

// disputed adds the first pattern to the message that the versions of Argo CD read differently for a value.
func (r *Refusal) disputed(patterns []string, value string, separators ...rune) *Refusal {
	for _, p := range patterns {
		if Disputed(p, value, separators...) {
			r.Message += fmt.Sprintf(". Argo CD 3.6 reads the pattern %q differently from earlier versions, and Towline takes the stricter meaning: "+
				"write the pattern differently", shown(p))
			break
		}
	}
	return r
}

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// NoProject returns the refusal for an Application without an existing AppProject.
func NoProject(name, namespace, argocdNamespace string) *Refusal {
	refusal := refuse(apis.ReasonProjectNotFound, "AppProject %q does not exist in namespace %s: create the AppProject, or name an existing "+
		"AppProject in spec.project",
		cut(name), argocdNamespace).lacking("AppProject %s/%s", argocdNamespace, cut(name))
	if namespace != argocdNamespace {
		refusal.Message += otherArgoCD(namespace, argocdNamespace)
	}
	return refusal
}

// otherArgoCD returns advice for a hub with several Argo CDs. The AppProject of an Argo CD must not admit the
// Applications of a different Argo CD.
func otherArgoCD(namespace, argocdNamespace string) string {
	return fmt.Sprintf(". But if namespace %s belongs to another Argo CD, leave the AppProjects as they are: Towline serves only the Argo CD of "+
		"namespace %s, so move the Application to a namespace of that Argo CD", namespace, argocdNamespace)
}

// Cluster is a managed cluster in the terms of AppProjects.
type Cluster struct {
	// Name is the name of the ManagedCluster.
	Name string

	// Server is the address of the cluster in AppProjects; empty if the hub's administrators have set none.
	Server string

	// Hub is true if the cluster is the hub, or claims to be the hub.
	Hub bool
}

// Project returns the refusal of an AppProject for an Application's request on a cluster; nil if permitted.
// Applications in argocdNamespace, the namespace of Argo CD, may use any project.
func Project(p *argocd.AppProject, namespace, argocdNamespace string, r Request, c Cluster) *Refusal {
	if !SourceNamespacePermitted(p, namespace, argocdNamespace) {
		return refuse(apis.ReasonProjectForbidden,
			"AppProject %s/%s does not permit Applications of namespace %q: name an AppProject with the namespace in "+
				"spec.sourceNamespaces%s", p.Namespace, p.Name, namespace, otherArgoCD(namespace, argocdNamespace)).
			disputed(p.Spec.SourceNamespaces, namespace)
	}
	for _, repo := range r.Sources {
		if !SourcePermitted(p, repo) {
			return refuse(apis.ReasonSourceForbidden, "AppProject %s/%s does not permit the repository %q: %s",
				p.Namespace, p.Name, shown(repo), sourceAdvice(repo)).
				disputed(sourceRepos(p), NormalizeURL(repo), '/')
		}
	}
	if r.Manifests {
		return refuse(apis.ReasonManifestsForbidden,
			"the operation contains its own manifests in sync.manifests, and no spec.sourceRepos of an AppProject can permit such manifests: commit "+
				"the manifests to a repository, or sync the manifests on cluster %q itself", c.Name)
	}
	if r.Elsewhere != (argocd.Destination{}) {
		if refusal := refuseElsewhere(p, namespace, argocdNamespace, r, c); refusal != nil {
			return refusal
		}
	} else if !Permits(p, c, r.Namespace) {
		refusal := refuse(apis.ReasonDestinationForbidden, "AppProject %s/%s does not permit namespace %q on cluster %q: %s",
			p.Namespace, p.Name, cut(r.Namespace), c.Name, destinationAdvice("name: "+c.Name, r.Namespace))
		if c.Server == "" && goesByAddress(p) {
			refusal.Message += fmt.Sprintf(": if the project names clusters by address, set the cluster's address in the annotation %s of Namespace %s",
				apis.AnnotationServer, c.Name)
			refusal.lacking("the address of cluster %s (annotation %s of Namespace %s)", c.Name, apis.AnnotationServer, c.Name)
		}
		var names, servers, namespaces []string
		for _, d := range p.Spec.Destinations {
			names, servers, namespaces = append(names, d.Name), append(servers, d.Server), append(namespaces, d.Namespace)
		}
		return refusal.disputed(names, c.Name).disputed(servers, c.Server).disputed(namespaces, r.Namespace)
	}
	if p.Spec.PermitOnlyProjectScopedClusters {
		return refuse(apis.ReasonDestinationForbidden,
			"AppProject %s/%s permits only project-scoped clusters, whose Secrets Towline does not read: for cluster %q, "+
				"remove permitOnlyProjectScopedClusters, and name the project's clusters in its spec.destinations",
			p.Namespace, p.Name, c.Name)
	}
	return nil
}

// sourceAdvice tells how to permit a repository. The author of the Application wrote the address. Therefore the
// advice never recommends an address that an AppProject would read as a pattern.
func sourceAdvice(repo string) string {
	if strings.ContainsAny(repo, patternCharacters) {
		return fmt.Sprintf("the address has a character that means a pattern in spec.sourceRepos (%s): name a repository without this "+
			"character", patternCharacters)
	}
	return `add the repository to spec.sourceRepos of the AppProject, and check that no entry with "!" forbids the repository`
}

// destinationAdvice tells how to permit a namespace on a cluster. The advice recommends only the name of a single
// namespace.
func destinationAdvice(cluster, namespace string) string {
	switch {
	case namespace == "":
		return "the Application names no namespace: set spec.destination.namespace"
	case !isNamespace(namespace):
		return "the namespace has no valid name: correct spec.destination.namespace"
	}
	return fmt.Sprintf(`add {%s, namespace: %s} to spec.destinations of the AppProject, and check that no entry with "!" forbids the destination`,
		cluster, namespace)
}

// isNamespace reports whether a text is a valid namespace name, and not a pattern.
func isNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// refuseElsewhere returns the refusal of a destination behind the cluster; nil if permitted.
func refuseElsewhere(p *argocd.AppProject, namespace, argocdNamespace string, r Request, c Cluster) *Refusal {
	to := Elsewhere{Destination: r.Elsewhere, Named: namespace != argocdNamespace}
	if to.Permits(p, c, r.Namespace) {
		return nil
	}
	cluster := "name: " + to.Name
	if to.Name == "" {
		cluster = "server: " + to.Server
	}
	refusal := refuse(apis.ReasonDestinationForbidden,
		"AppProject %s/%s does not permit namespace %q of the destination %q that the Application asks for on cluster %q: %s",
		p.Namespace, p.Name, cut(r.Namespace), cut(to.String()), c.Name, destinationAdvice(cut(cluster), r.Namespace))
	if to.Named {
		refusal.Message += fmt.Sprintf(". An entry that matches every cluster does not count for Applications of namespace %s", namespace)
		to.Named = false
	}
	if to.Permits(p, c, r.Namespace) { // no entry refuses the destination
		return refusal.lacking("an entry of AppProject %s/%s for the destination %q", p.Namespace, p.Name, cut(to.String()))
	}
	return refusal
}

// SourceNamespacePermitted reports whether Applications of a namespace may use the project.
func SourceNamespacePermitted(p *argocd.AppProject, namespace, argocdNamespace string) bool {
	return namespace == argocdNamespace || lists(p.Spec.SourceNamespaces, namespace)
}

// SourcePermitted reports whether the project permits a repository.
func SourcePermitted(p *argocd.AppProject, repo string) bool {
	repo = NormalizeURL(repo)
	permitted := false
	for _, pattern := range sourceRepos(p) {
		if matches(pattern, repo, '/') {
			permitted = true
		} else if denies(pattern) {
			return false
		}
	}
	return permitted
}

// sourceRepos returns the project's patterns of repositories in the spelling that Argo CD compares.
func sourceRepos(p *argocd.AppProject) []string {
	patterns := make([]string, len(p.Spec.SourceRepos))
	for i, pattern := range p.Spec.SourceRepos {
		if denies(pattern) {
			patterns[i] = "!" + NormalizeURL(pattern[1:])
		} else {
			patterns[i] = NormalizeURL(pattern)
		}
	}
	return patterns
}
