package idkey

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

const (
	// Name is the name of the Secret.
	Name = "towline-maestro-ids"

	// Field is the field of the Secret with the key.
	Field = "key"
)

// Load returns the key from the Secret. If the Secret has no key, Load writes a new key. If several processes write at
// the same time, the first process wins: the other processes get a conflict and read the Secret again.
func Load(ctx context.Context, hub kubernetes.Interface, namespace string) (key []byte, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		key, err = load(ctx, hub, namespace)
		return err
	})
	return key, err
}

func load(ctx context.Context, hub kubernetes.Interface, namespace string) ([]byte, error) {
	secret, err := hub.CoreV1().Secrets(namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the Secret %s/%s is missing: apply deploy/maestro, which brings the Secret without a key", namespace, Name)
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the ids of works: %w", err)
	}
	if key := secret.Data[Field]; len(key) > 0 {
		return key, check(key, namespace)
	}
	return fill(ctx, hub, secret)
}

// check returns an error for a key shorter than bundle.KeySize, because a short key is easy to guess.
func check(key []byte, namespace string) error {
	if len(key) < bundle.KeySize {
		return fmt.Errorf("the Secret %s/%s has a key of %d bytes in the field %s: give at least %d random bytes, or remove the field to get a new key",
			namespace, Name, len(key), Field, bundle.KeySize)
	}
	return nil
}

// fill writes a new key into the Secret and returns the key. All other fields of the Secret stay.
func fill(ctx context.Context, hub kubernetes.Interface, secret *corev1.Secret) ([]byte, error) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	key := bundle.NewKey()
	secret.Data[Field] = key
	_, err := hub.CoreV1().Secrets(secret.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	return key, err
}
