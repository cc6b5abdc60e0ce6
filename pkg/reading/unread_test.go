package reading_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/reading"
)

// away returns a client of an unreachable API server.
func away(t *testing.T) client.Client {
	t.Helper()
	scheme, err := reading.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(&rest.Config{Host: "127.0.0.1:1"}, client.Options{Scheme: scheme, Mapper: reading.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNote checks that each refused read is noted once, with the names from a Role. Other errors are not noted.
func TestNote(t *testing.T) {
	c := away(t)
	refused := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	unknown := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "other.io/v1", Kind: "Other"}}
	u := &reading.Unread{}
	for _, tc := range []struct {
		verb, namespace string
		of              runtime.Object
		err             error
	}{
		{"list", "", &corev1.SecretList{}, refused},
		{"list", "", &corev1.SecretList{}, refused},
		{"get", "cluster1", &workv1.ManifestWork{}, refused},
		{"get", "", unknown, refused},
		{"get", "", &corev1.Namespace{}, errors.New("away")},
		{"get", "", &corev1.Namespace{}, nil},
	} {
		if got := u.Note(c, tc.verb, tc.of, tc.namespace, tc.err); !errors.Is(got, tc.err) {
			t.Errorf("%v became %v", tc.err, got)
		}
	}
	want := []string{"list secrets", "get manifestworks.work.open-cluster-management.io in namespace cluster1", "get objects"}
	if got := u.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
