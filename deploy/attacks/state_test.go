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

// hub is an API server, and who may do everything there.
type hub struct {
	env   *envtest.Environment
	admin client.Client
}

// state is each object of the kinds that the attacks are about, by kind, namespace and name.
type state map[string]*unstructured.Unstructured

// watched are these kinds.
var watched = []kind{
	workKind, appKind, setKind, projectKind, reportKind, ownReport, gitOpsKind, clusterKind, bindingKind, setOfKind, decision, policyKind, rightsKind,
	namespaces, secretKind, configKind, localRights, eventKind, placement, leaseKind, accountKind,
}

// state reads all of them.
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
				continue // the API server's own, which it writes itself
			}
			out[k.kind+" "+u.GetNamespace()+"/"+u.GetName()] = u
		}
	}
	return out
}

// expectRefused: in these words, and nothing has changed.
func (h *hub) expectRefused(t *testing.T, err error, says string, before state) {
	t.Helper()
	after := h.state(t)
	g := NewWithT(t)
	g.Expect(err).To(refusedWith(says))
	g.Expect(after.since(before)).To(BeEmpty())
	h.restore(t, before, after)
}

// expectDone: the request is carried out, so that what guards against it is its guard and nothing else.
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

// since are the objects that differ.
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

// restore makes the hub what it was.
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
