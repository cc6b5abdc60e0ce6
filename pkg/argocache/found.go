package argocache

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/pkg/argoredis"
)

// recent is how long read objects stay valid. It is shorter than the pause after a failure: Found reads a changed
// password again before the next attempt.
const recent = 10 * time.Second

// Found is a Source that reads the objects in the namespace of Argo CD.
type Found struct {
	// Reader reads from the API server by name. A cache would watch the objects.
	Reader client.Reader

	// Namespace is the namespace of Argo CD.
	Namespace string

	mu    sync.Mutex
	last  argoredis.Endpoint
	until time.Time
}

var _ Source = &Found{}

// Endpoint implements Source.
func (f *Found) Endpoint(ctx context.Context) (argoredis.Endpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().Before(f.until) {
		return f.last, nil
	}
	facts, err := f.facts(ctx)
	if err != nil {
		return argoredis.Endpoint{}, err
	}
	e, err := argoredis.Find(facts)
	if err == nil {
		f.last, f.until = e, time.Now().Add(recent)
	}
	return e, err
}

// facts reads the ConfigMap, the Service and the Secrets.
func (f *Found) facts(ctx context.Context) (argoredis.Facts, error) {
	facts := argoredis.Facts{Namespace: f.Namespace, Secrets: map[string]map[string][]byte{}}
	params := &corev1.ConfigMap{}
	if _, err := f.read(ctx, "ConfigMap", argoredis.Params, params); err != nil {
		return facts, err
	}
	facts.Params = params.Data
	for i := 0; i < len(argoredis.Services) && facts.Service == "" && params.Data["redis.server"] == ""; i++ {
		there, err := f.read(ctx, "Service", argoredis.Services[i], &corev1.Service{})
		if err != nil {
			return facts, err
		}
		if there {
			facts.Service = argoredis.Services[i]
		}
	}
	for _, name := range secrets() {
		secret := &corev1.Secret{}
		there, err := f.read(ctx, "Secret", name, secret)
		if err != nil {
			return facts, err
		}
		if there {
			facts.Secrets[name] = secret.Data
		}
	}
	return facts, nil
}

// secrets returns the names of the Secrets to read.
func secrets() []string {
	names := []string{argoredis.TLS}
	for _, p := range argoredis.Passwords {
		names = append(names, p.Secret)
	}
	return names
}

// read reads an object, and reports whether the object exists.
func (f *Found) read(ctx context.Context, kind, name string, obj client.Object) (bool, error) {
	err := f.Reader.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return false, fmt.Errorf("%s %s/%s locates Argo CD's Redis, but Towline may not read the object: apply the Role of Towline's manifest in "+
			"the namespace, or name the hub's Redis in the folder of --argocd-redis: %w", kind, f.Namespace, name, err)
	}
	return err == nil, err
}
