package dependencies

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/towline-io/towline/controllers/internal/fetch"
	"github.com/towline-io/towline/pkg/dependency"
)

// read returns a ConfigMap from the cache; nil for none. The object belongs to the cache. read waits until the cache is
// filled.
func (t *trust) read(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	one := t.caches[name]
	if !one.WaitForCacheSync(ctx) {
		return nil, ctx.Err()
	}
	return fetch.Get(ctx, one, types.NamespacedName{Namespace: t.namespace, Name: name}, &corev1.ConfigMap{})
}

// observe reads both ConfigMaps.
func (t *trust) observe(ctx context.Context, seen *observation) (err error) {
	if seen.Certificates, err = t.read(ctx, dependency.CertificatesConfigMap); err != nil {
		return err
	}
	seen.Keys, err = t.read(ctx, dependency.KeysConfigMap)
	return err
}

// observeLive reads the ConfigMap of the certificates past the cache.
func (t *trust) observeLive(ctx context.Context, live client.Reader, seen *observation) error {
	list := &corev1.ConfigMapList{}
	name := client.MatchingFieldsSelector{Selector: named(t.namespace, dependency.CertificatesConfigMap)}
	if err := live.List(ctx, list, client.InNamespace(t.namespace), name); err != nil {
		return err
	}
	seen.Certificates = nil
	if len(list.Items) > 0 {
		seen.Certificates = &list.Items[0]
	}
	return nil
}
