package hub_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/controllers/internal/hub"
)

// TestIsAbsent: a 404 for an unserved resource does not prove the absence of an object.
func TestIsAbsent(t *testing.T) {
	resource := schema.GroupResource{Group: "argoproj.io", Resource: "applications"}
	unserved := apierrors.NewGenericServerResponse(404, "get", resource, "guestbook", "404 page not found", 0, true)
	if !apierrors.IsNotFound(unserved) {
		t.Fatal("the case that this is about is another one")
	}
	for title, tc := range map[string]struct {
		err  error
		want bool
	}{
		"the object does not exist": {apierrors.NewNotFound(resource, "guestbook"), true},
		"its resource is gone":      {unserved, false},
		"no answer":                 {errors.New("connection refused"), false},
		"no error":                  {nil, false},
	} {
		if got := hub.IsAbsent(tc.err); got != tc.want {
			t.Errorf("%s: hub.IsAbsent = %t", title, got)
		}
	}
}
