package argocd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of Application in Argo CD 2 and 3.
var GroupVersion = schema.GroupVersion{Group: "argoproj.io", Version: "v1alpha1"}

const (
	// Kind is the kind of an Application.
	Kind = "Application"

	// Resource is the plural name of Applications in the API.
	Resource = "applications"
)

// AddToScheme registers Application, AppProject and their lists.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Application{}, &ApplicationList{}, &AppProject{}, &AppProjectList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
