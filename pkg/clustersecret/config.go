package clustersecret

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// The keys in the data of a cluster Secret.
const (
	keyName   = "name"
	keyServer = "server"
	keyConfig = "config"
)

// Credentials let a pushing Argo CD into a cluster.
type Credentials struct {
	// Account is the name of the ManagedServiceAccount.
	Account string

	// Token is the bearer token of the account.
	Token []byte

	// CA are the authorities of the cluster's API server, in PEM. An empty CA means the authorities of Argo CD's
	// host.
	CA []byte
}

// CredentialsOf returns the credentials from the Secret of a ManagedServiceAccount; nil for a Secret without a token.
func CredentialsOf(s *corev1.Secret) *Credentials {
	if len(s.Data[corev1.ServiceAccountTokenKey]) == 0 {
		return nil
	}
	return &Credentials{
		Account: s.Name,
		Token:   bytes.TrimSpace(s.Data[corev1.ServiceAccountTokenKey]),
		CA:      s.Data[corev1.ServiceAccountRootCAKey],
	}
}

// config has the fields of Argo CD's ClusterConfig (v2.14, pkg/apis/application/v1alpha1) that Towline writes. Argo
// CD always verifies the server's certificate.
type config struct {
	BearerToken     string    `json:"bearerToken,omitempty"`
	TLSClientConfig tlsConfig `json:"tlsClientConfig"`
}

type tlsConfig struct {
	Insecure bool   `json:"insecure"`
	CAData   []byte `json:"caData,omitempty"`
}

// text returns the JSON of the config with the credentials. With nil credentials, the config has none.
func (c *Credentials) text() []byte {
	var out config
	if c != nil {
		out.BearerToken, out.TLSClientConfig.CAData = string(c.Token), c.CA
	}
	data, err := json.Marshal(out) //nolint:gosec // a Secret is where the token belongs
	if err != nil {
		panic(err) // cannot happen: the config has only two strings and a bool
	}
	return data
}

// Trim keeps only the fields of a Secret for Update, and replaces the config with a digest. It is for caches: foreign
// cluster Secrets of an Argo CD hold credentials unrelated to Towline. Other objects are returned unchanged.
func Trim(obj any) (any, error) {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return obj, nil
	}
	out := &corev1.Secret{TypeMeta: s.TypeMeta, ObjectMeta: s.ObjectMeta, Type: s.Type, Data: map[string][]byte{}}
	out.ManagedFields = nil
	out.Annotations = map[string]string{}
	for _, key := range []string{apis.AnnotationGitOpsClusters, apis.AnnotationClusterLabels, apis.AnnotationServiceAccount} {
		if value, ok := s.Annotations[key]; ok {
			out.Annotations[key] = value
		}
	}
	for _, key := range []string{keyName, keyServer} {
		if value, ok := s.Data[key]; ok {
			out.Data[key] = value
		}
	}
	if value, ok := s.Data[keyConfig]; ok {
		out.Data[keyConfig] = digest(value)
	}
	return out, nil
}

// without are the digests of configs without credentials.
var without = [][]byte{digest(nil), digest([]byte("{}")), digest((*Credentials)(nil).text())}

// hasCredentials reports whether the config of a Secret differs from the configs that Towline writes without
// credentials.
func hasCredentials(s *corev1.Secret) bool {
	config, there := s.Data[keyConfig]
	return there && !slices.ContainsFunc(without, func(d []byte) bool { return bytes.Equal(d, config) })
}

// MaxCredential is the maximum size of a token or of a cluster's authorities, in bytes.
const MaxCredential = 128 << 10

// TrimToken keeps only the fields of a Secret for CredentialsOf. It is for caches: the cluster writes the Secret of a
// ManagedServiceAccount. Other objects are returned unchanged.
func TrimToken(obj any) (any, error) {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return obj, nil
	}
	out := &corev1.Secret{TypeMeta: s.TypeMeta, Type: s.Type, Data: map[string][]byte{}}
	out.Namespace, out.Name, out.UID, out.ResourceVersion = s.Namespace, s.Name, s.UID, s.ResourceVersion
	for _, key := range []string{corev1.ServiceAccountTokenKey, corev1.ServiceAccountRootCAKey} {
		if value, ok := s.Data[key]; ok && len(value) <= MaxCredential {
			out.Data[key] = value
		}
	}
	return out, nil
}

// digest returns the digest of a config, for the memory of a cache.
func digest(config []byte) []byte {
	sum := sha256.Sum256(config)
	return sum[:]
}
