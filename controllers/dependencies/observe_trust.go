package dependencies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/hub"
	"github.com/towline-io/towline/pkg/dependency"
)

// read returns a ConfigMap from the cache; nil for none. The object belongs to the cache. read waits until the cache is
// filled.
func (t *trust) read(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	one := t.caches[name]
	if !one.WaitForCacheSync(ctx) {
		return nil, ctx.Err()
	}
	return hub.Get(ctx, one, types.NamespacedName{Namespace: t.namespace, Name: name}, &corev1.ConfigMap{})
}

// observe reads all ConfigMaps.
func (t *trust) observe(ctx context.Context, seen *observation) (err error) {
	if seen.Certificates, err = t.read(ctx, dependency.CertificatesConfigMap); err != nil {
		return err
	}
	if seen.Keys, err = t.read(ctx, dependency.KeysConfigMap); err != nil {
		return err
	}
	seen.HostKeys, err = t.read(ctx, dependency.HostKeysConfigMap)
	return err
}

// readLive returns a ConfigMap, read past the cache; nil for none.
func (t *trust) readLive(ctx context.Context, live client.Reader, name string) (*corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	selected := client.MatchingFieldsSelector{Selector: named(t.namespace, name)}
	if err := live.List(ctx, list, client.InNamespace(t.namespace), selected); err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}
