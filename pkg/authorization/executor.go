package authorization

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ParseServiceAccount parses a ServiceAccount from `<namespace>/<name>`.
func ParseServiceAccount(s string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, fmt.Errorf("%q is not <namespace>/<name> of a ServiceAccount", cut(s))
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
