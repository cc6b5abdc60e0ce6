package reading

import (
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Unread is the list of refused reads, in words. It is safe for concurrent use.
type Unread struct {
	mu    sync.Mutex
	lines []string
}

// Lines returns the notes in order.
func (u *Unread) Lines() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.lines)
}

// Note notes a refused read, and returns the unchanged error. An empty namespace means none, or all.
func (u *Unread) Note(c client.Client, verb string, of runtime.Object, namespace string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	line := verb + " " + resource(c, of)
	if namespace != "" {
		line += " in namespace " + namespace
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !slices.Contains(u.lines, line) {
		u.lines = append(u.lines, line)
	}
	return err
}

// resource returns the resource name of an object or a list.
func resource(c client.Client, of runtime.Object) string {
	gvk, err := apiutil.GVKForObject(of, c.Scheme())
	if err != nil {
		return "objects"
	}
	kind := schema.GroupKind{Group: gvk.Group, Kind: strings.TrimSuffix(gvk.Kind, "List")}
	m, err := c.RESTMapper().RESTMapping(kind, gvk.Version)
	if err != nil {
		return "objects"
	}
	return m.Resource.GroupResource().String()
}
