package fleet

import (
	"reflect"
	"testing"
)

// TestNamespacesOfTheHubsArgoCD checks two rules of withNamespaces. The namespaces of the last start replace earlier
// namespaces. All further arguments stay.
func TestNamespacesOfTheHubsArgoCD(t *testing.T) {
	asked := map[string][]string{"hub/argocd-application-controller": {"--loglevel=debug"}, "etcd": {"-a"}}
	first := withNamespaces(asked, "a")
	want := map[string][]string{"hub/argocd-application-controller": {"--loglevel=debug", "--application-namespaces=b"}, "etcd": {"-a"}}
	if got := withNamespaces(first, "b"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(asked["hub/argocd-application-controller"]) != 1 {
		t.Error("what was asked for is changed")
	}
	if got := withNamespaces(nil, "a"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
