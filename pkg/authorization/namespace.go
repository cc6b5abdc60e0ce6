package authorization

import (
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// NamespaceRule lets the Applications of some namespaces of the hub choose their namespace on a cluster.
type NamespaceRule struct {
	// From is a glob of namespaces of the hub.
	From string

	// To is a glob of the namespaces on the cluster that they may choose.
	To string
}

// ParseNamespaceRule reads a rule as `<from>=<to>`.
func ParseNamespaceRule(s string) (NamespaceRule, error) {
	from, to, ok := strings.Cut(s, "=")
	if !ok || from == "" || to == "" {
		return NamespaceRule{}, fmt.Errorf("%q is not <namespaces on the hub>=<namespaces on the cluster>", s)
	}
	for _, pattern := range []string{from, to} {
		if _, err := compileGlob(pattern); err != nil {
			return NamespaceRule{}, fmt.Errorf("%.80q: %w", pattern, err)
		}
	}
	return NamespaceRule{From: from, To: to}, nil
}

// Namespace is the refusal of the namespace that an Application is to have on its cluster; nil when it may have it:
// it is the one that it has on the hub, or home, which administrators chose for the cluster, the Application is one of Argo CD's
// own namespace, or a rule lets it.
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
