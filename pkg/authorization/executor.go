package authorization

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// ParseServiceAccount parses a ServiceAccount from `<namespace>/<name>`.
func ParseServiceAccount(s string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return types.NamespacedName{}, fmt.Errorf("%q is not <namespace>/<name> of a ServiceAccount", cut(s))
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// ExecutorOf returns the ServiceAccount with whose rights the work agent applies the Applications of an AppProject: the
// account in the annotation of the project, otherwise the hub's default. An invalid annotation is an error. A nil project
// has no annotation.
func ExecutorOf(project *argocd.AppProject, byDefault types.NamespacedName) (types.NamespacedName, error) {
	if project == nil || project.Annotations[apis.AnnotationExecutor] == "" {
		return byDefault, nil
	}
	return ParseServiceAccount(project.Annotations[apis.AnnotationExecutor])
}
