package argocache

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/argoredis"
)

// namespace is a reader for the namespace of Argo CD on an API server.
type namespace struct {
	client.Reader
	params    map[string]string
	secrets   map[string]map[string][]byte
	forbidden string
	read      int
}

func (n *namespace) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	n.read++
	if key.Name == n.forbidden {
		return apierrors.NewForbidden(schema.GroupResource{}, key.Name, nil)
	}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data = n.params
		return nil
	case *corev1.Secret:
		if data, there := n.secrets[key.Name]; there {
			o.Data = data
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func password(text string) map[string]map[string][]byte {
	return map[string]map[string][]byte{"argocd-redis": {"auth": []byte(text)}}
}

// TestANewPasswordIsRead checks that Towline connects again after Redis got a new password.
func TestANewPasswordIsRead(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("first")
	n := &namespace{params: map[string]string{"redis.server": server.Addr(), "redis.db": "2"}, secrets: password("first")}
	found := &Found{Reader: n, Namespace: "argocd"}
	r := NewRedis(found)
	set := func() error { return r.Set(t.Context(), "key", "channel", nil, time.Hour) }
	if err := set(); err != nil || !server.DB(2).Exists("key") {
		t.Fatal(err)
	}
	server.Close()
	server.RequireAuth("second")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := set(); err == nil || strings.Contains(err.Error(), "first") {
		t.Fatalf("got %v", err)
	}
	n.secrets = password("second")
	found.until = time.Time{}
	if err := set(); err != nil {
		t.Fatal(err)
	}
	if n.read > 20 {
		t.Errorf("read %d objects", n.read)
	}
}

func TestMissingSettings(t *testing.T) {
	for title, tc := range map[string]struct {
		namespace *namespace
		none      bool
		says      string
	}{
		"nothing is there":   {&namespace{}, true, "--argocd-redis"},
		"a Secret not read":  {&namespace{forbidden: "argocd-operator-redis-tls"}, false, "Secret argocd/argocd-operator-redis-tls"},
		"a Service not read": {&namespace{forbidden: "argocd-redis-ha-haproxy"}, false, "Service argocd/argocd-redis-ha-haproxy"},
	} {
		t.Run(title, func(t *testing.T) {
			_, err := NewRedis(&Found{Reader: tc.namespace, Namespace: "argocd"}).Plain(t.Context())
			if err == nil || errors.Is(err, argoredis.ErrNone) != tc.none || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}
