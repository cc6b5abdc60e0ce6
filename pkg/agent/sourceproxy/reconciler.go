package sourceproxy

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fieldOwner is the field manager of the agent's entry in the ConfigMap of Argo CD.
	fieldOwner = "towline-agent-source"

	// secretType is Argo CD's label of Secrets. repoCredentials is the value for credentials of all repositories below an
	// address.
	secretType      = "argocd.argoproj.io/secret-type" //nolint:gosec // a label, and no credential
	repoCredentials = "repo-creds"                     //nolint:gosec // a label, and no credential

	// conflictPause is the time until a reconcile reads an object again that somebody else changed.
	conflictPause = time.Second
)

// reconciler writes the password and the certificate authorities for the cluster's Argo CD, and repairs changed objects.
type reconciler struct {
	// own reads the Secret with the keys. home reads the objects in the namespace of Argo CD.
	own, home client.Reader
	writer    client.Client

	options  Options
	address  *url.URL
	identity *identity
	clock    clock.PassiveClock
}

func (r *reconciler) keysSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.options.Namespace, Name: KeysSecret}}
}

func (r *reconciler) credentialsSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.options.ArgoCDNamespace, Name: CredentialsSecret}}
}

func (r *reconciler) certificatesConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.options.ArgoCDNamespace, Name: CertificatesConfigMap}}
}

// Reconcile makes the three objects agree with the keys. Reconcile requeues for the time of the next certificate
// authority.
func (r *reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := r.clock.Now()
	k, err := r.loadKeys(ctx, now)
	if err == nil && k != nil {
		r.identity.set(k)
		err = errors.Join(r.writeCredentials(ctx, k), r.writeAuthorities(ctx, k))
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	if err != nil || k == nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: k.authorities.due().Sub(now)}, nil
}

// get reads an object, and returns false if the object is missing. The creation of the object causes the next reconcile.
func get(ctx context.Context, from client.Reader, obj client.Object) (bool, error) {
	err := from.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	if apierrors.IsNotFound(err) {
		ctrl.LoggerFrom(ctx).Info("The cluster's Argo CD cannot read sources from the hub: an object is missing", "reason", err.Error())
	}
	return err == nil, client.IgnoreNotFound(err)
}

// loadKeys returns the keys in the Secret, and renews the keys in the Secret if needed. If the Secret has no valid keys,
// loadKeys writes the proxy's present keys: a removed Secret does not interrupt the service. loadKeys returns nil if
// the Secret is missing.
func (r *reconciler) loadKeys(ctx context.Context, now time.Time) (*keys, error) {
	secret := r.keysSecret()
	if found, err := get(ctx, r.own, secret); !found {
		return nil, err
	}
	k, invalid := parseKeys(secret.Data)
	if invalid != nil {
		if k = r.identity.current(); k == nil {
			k = newKeys()
		}
	}
	k, changed, err := k.renewed(now)
	if err != nil || !changed && invalid == nil {
		return k, err
	}
	secret = secret.DeepCopy()
	if secret.Data, err = k.data(); err != nil {
		return nil, err
	}
	return k, r.writer.Update(ctx, secret)
}

// writeCredentials writes the address and the password for Argo CD.
func (r *reconciler) writeCredentials(ctx context.Context, k *keys) error {
	secret := r.credentialsSecret()
	if found, err := get(ctx, r.home, secret); !found {
		return err
	}
	want := secret.DeepCopy()
	want.Data = map[string][]byte{
		"type": []byte("git"), "url": []byte(r.address.String()), "username": []byte(Username), "password": []byte(k.password),
	}
	want.Labels = maps.Clone(secret.Labels)
	metav1.SetMetaDataLabel(&want.ObjectMeta, secretType, repoCredentials)
	if reflect.DeepEqual(want.Data, secret.Data) && maps.Equal(want.Labels, secret.Labels) {
		return nil
	}
	return r.writer.Update(ctx, want)
}

// writeAuthorities writes the certificate authorities for Argo CD, and no other entry of the ConfigMap.
func (r *reconciler) writeAuthorities(ctx context.Context, k *keys) error {
	certificates, err := k.authorities.certificates()
	if err != nil {
		return err
	}
	all, host := r.certificatesConfigMap(), r.address.Hostname()
	if found, err := get(ctx, r.home, all); !found || all.Data[host] == string(certificates) {
		return err
	}
	entry := corev1ac.ConfigMap(all.Name, all.Namespace).WithData(map[string]string{host: string(certificates)})
	return r.writer.Apply(ctx, entry, client.FieldOwner(fieldOwner), client.ForceOwnership)
}
