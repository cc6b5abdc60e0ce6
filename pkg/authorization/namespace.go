package authorization

import (
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// NamespaceRule lets Applications choose their namespace on a cluster, by their namespace on the hub.
type NamespaceRule struct {
	// From is a glob of namespaces on the hub.
	From string

	// To is a glob of permitted namespaces on the cluster.
	To string
}

// ParseNamespaceRule parses a rule from `<from>=<to>`.
func ParseNamespaceRule(s string) (NamespaceRule, error) {
	from, to, ok := strings.Cut(s, "=")
	if !ok || from == "" || to == "" {
		return NamespaceRule{}, fmt.Errorf("%q is not <namespaces on the hub>=<namespaces on the cluster>", s)
	}
	for _, pattern := range []string{from, to} {
		g, err := compileGlob(pattern)
		if err == nil && g.latter == nil {
			err = errIncomplete
		}
		if err != nil {
			return NamespaceRule{}, fmt.Errorf("%.80q: %w", pattern, err)
		}
	}
	return NamespaceRule{From: from, To: to}, nil
}

// Namespace returns a refusal of the Application's namespace on the cluster; nil if permitted. Permitted are the same
// namespace as on the hub, and home, chosen by administrators for the cluster. An Application in Argo CD's own
// namespace may choose any namespace. All others need a rule.
func Namespace(app *argocd.Application, argocdNamespace, home string, rules []NamespaceRule) *Refusal {
	from, to := app.Namespace, app.ClusterNamespace()
	if from == to || from == argocdNamespace || to == home {
		return nil
	}
	for _, rule := range rules {
		if globs(rule.From, from) && globs(rule.To, to) {
			return nil
		}
	}
	return refuse(apis.ReasonNamespaceForbidden,
		"an Application of namespace %q may not have namespace %q on its cluster: remove the annotation %s, or add to Towline's flag "+
			"--allowed-app-namespaces %s=%s", from, to, apis.AnnotationAppNamespace, from, to)
}
