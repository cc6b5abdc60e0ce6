package idkey

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

func aSecret(key []byte) *corev1.Secret {
	out := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: Name, Labels: map[string]string{"a": "b"}}}
	if key != nil {
		out.Data = map[string][]byte{Field: key}
	}
	return out
}

// TestTheFirstProcessMakesTheKey, and the next one reads the same key.
func TestTheFirstProcessMakesTheKey(t *testing.T) {
	hub := fake.NewClientset(aSecret(nil))
	first, err := Load(t.Context(), hub, "argocd")
	if err != nil || len(first) != bundle.KeySize {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	second, err := Load(t.Context(), hub, "argocd")
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("another key, %v", err)
	}
	now, err := hub.CoreV1().Secrets("argocd").Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil || now.Labels["a"] != "b" {
		t.Errorf("%+v, %v", now.ObjectMeta, err)
	}
}

// TestTwoProcessesAgree: the key of the process whose update comes later is not used.
func TestTwoProcessesAgree(t *testing.T) {
	hub := fake.NewClientset(aSecret(nil))
	winner := bytes.Repeat([]byte{7}, bundle.KeySize)
	late := false
	hub.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if late {
			return false, nil, nil
		}
		late = true
		if err := hub.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), aSecret(winner), "argocd"); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewConflict(corev1.Resource("secrets"), Name, nil)
	})
	if key, err := Load(t.Context(), hub, "argocd"); err != nil || !bytes.Equal(key, winner) {
		t.Errorf("another key than the first, %v", err)
	}
}

// TestErrorsNameTheSecret: an error names the Secret and the next step, and shows no key.
func TestErrorsNameTheSecret(t *testing.T) {
	for name, tc := range map[string]struct {
		has  []runtime.Object
		want string
	}{
		"no Secret":   {nil, "apply deploy/maestro"},
		"a short key": {[]runtime.Object{aSecret([]byte("hunter2"))}, "a key of 7 bytes in the field key: give at least 32 random bytes"},
	} {
		_, err := Load(t.Context(), fake.NewClientset(tc.has...), "argocd")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		said := err.Error()
		if !strings.Contains(said, "argocd/"+Name) || !strings.Contains(said, tc.want) || strings.Contains(said, "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
