package clustersecret

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// The keys of a cluster Secret's data.
const (
	keyName   = "name"
	keyServer = "server"
	keyConfig = "config"
)

// Credentials let an Argo CD that pushes into a cluster.
type Credentials struct {
	// Account is the name of the ManagedServiceAccount that they are of.
	Account string

	// Token is its bearer token.
	Token []byte

	// CA are the authorities that vouch for the cluster's API server, in PEM. An empty CA means the
	// authorities of Argo CD's host.
	CA []byte
}

// CredentialsOf are the credentials in the Secret of a ManagedServiceAccount; nil when it has no token.
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

// config is Argo CD's ClusterConfig (v2.14, pkg/apis/application/v1alpha1), as far as it is written here. The server's
// certificate is always verified.
type config struct {
	BearerToken     string    `json:"bearerToken,omitempty"`
	TLSClientConfig tlsConfig `json:"tlsClientConfig"`
}

type tlsConfig struct {
	Insecure bool   `json:"insecure"`
	CAData   []byte `json:"caData,omitempty"`
}

// text is the config with these credentials; without any for nil.
func (c *Credentials) text() []byte {
	var out config
	if c != nil {
		out.BearerToken, out.TLSClientConfig.CAData = string(c.Token), c.CA
	}
	data, err := json.Marshal(out) //nolint:gosec // a Secret is where the token belongs
	if err != nil {
		panic(err) // two strings and a bool
	}
	return data
}

// Trim leaves of a Secret's data what Update compares, and of its config a digest. It is for caches: the cluster
// Secrets of an Argo CD that somebody else made hold credentials that are none of Towline's business. Any other object
// is returned as it is.
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

// without are the digests of configs that hold no credentials.
var without = [][]byte{digest(nil), digest([]byte("{}")), digest((*Credentials)(nil).text())}

// hasCredentials tells whether a Secret has credentials, or anything else that Towline does not put into a config without.
func hasCredentials(s *corev1.Secret) bool {
	config, there := s.Data[keyConfig]
	return there && !slices.ContainsFunc(without, func(d []byte) bool { return bytes.Equal(d, config) })
}

// MaxCredential is how many bytes a token or the authorities of a cluster may have.
const MaxCredential = 128 << 10

// TrimToken leaves of a Secret what CredentialsOf reads. It is for caches: the Secret of a ManagedServiceAccount is written
// by its cluster. Any other object is returned as it is.
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

// digest stands for a config in memory.
func digest(config []byte) []byte {
	sum := sha256.Sum256(config)
	return sum[:]
}
