package attacks_test

import (
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// hub is an API server with a client of an administrator.
type hub struct {
	env   *envtest.Environment
	admin client.Client
}

// state is the content of the hub: each object of the watched kinds, by kind, namespace and name.
type state map[string]*unstructured.Unstructured

// watched are the kinds of the objects in a state: the targets of the attacks, and the objects created by attacks.
var watched = []kind{
	workKind, appKind, setKind, projectKind, reportKind, ownReport, gitOpsKind, clusterKind, bindingKind, setOfKind, decision, policyKind, rightsKind,
	namespaces, secretKind, configKind, localRights, eventKind, placement, leaseKind, accountKind,
}

// state reads all objects of the watched kinds.
func (h *hub) state(t *testing.T) state {
	t.Helper()
	out := state{}
	for _, k := range watched {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(k.apiVersion)
		list.SetKind(k.kind + "List")
		if err := h.admin.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			if strings.HasPrefix(u.GetName(), "kube-") || strings.HasPrefix(u.GetName(), "apiserver-") || u.GetNamespace() == "kube-system" {
				continue // The API server itself writes these objects at any time.
			}
			out[k.kind+" "+u.GetNamespace()+"/"+u.GetName()] = u
		}
	}
	return out
}

// expectRefused checks that the API server refused a request with the given words, and that no object has changed. If
// an object has changed, expectRefused restores the object.
func (h *hub) expectRefused(t *testing.T, err error, says string, before state) {
	t.Helper()
	after := h.state(t)
	g := NewWithT(t)
	g.Expect(err).To(refusedWith(says))
	g.Expect(after.since(before)).To(BeEmpty())
	h.restore(t, before, after)
}

// expectDone checks that a request without the guard succeeds and changes an object, and restores the hub. A success
// proves that only the guard refuses the request. Reads and token requests change no object.
func (h *hub) expectDone(t *testing.T, err error, r refusal, before state) {
	t.Helper()
	if err != nil {
		t.Errorf("it is refused by something else than %s: %v", r.guard, err)
	}
	after := h.state(t)
	if changed := after.since(before); len(changed) == 0 && !strings.HasPrefix(r.what, "reads ") && !strings.HasPrefix(r.what, "makes a token") {
		t.Error("it has changed nothing")
	}
	h.restore(t, before, after)
}

// since returns the keys of the objects with a change between two states: created, deleted or updated objects.
func (s state) since(before state) (changed []string) {
	all := maps.Clone(before)
	maps.Copy(all, s)
	for key := range all {
		if s[key] == nil || before[key] == nil || s[key].GetResourceVersion() != before[key].GetResourceVersion() {
			changed = append(changed, key)
		}
	}
	return changed
}

// restore returns the hub to the state before a request.
func (h *hub) restore(t *testing.T, before, after state) {
	t.Helper()
	for _, key := range after.since(before) {
		was, is := before[key], after[key]
		var err error
		switch {
		case was == nil:
			err = h.admin.Delete(t.Context(), is)
		case is == nil:
			again := was.DeepCopy()
			again.SetResourceVersion("")
			again.SetUID("")
			err = h.admin.Create(t.Context(), again)
		default:
			again := was.DeepCopy()
			again.SetResourceVersion(is.GetResourceVersion())
			err = h.admin.Update(t.Context(), again)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("%s: %v", key, err)
		}
	}
}
