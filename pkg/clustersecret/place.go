package clustersecret

import (
	"encoding/json"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// trimmed is the key for existing credentials in a trimmed Secret. A cache may trim an object twice. No real Secret
// can have a key with a space.
const trimmed = "has credentials"

// Place is the address of a cluster from a cluster Secret, without credentials.
type Place struct {
	// Name and Server are the values for destinations of Applications.
	Name, Server string

	// Cluster is the ManagedCluster in the Secret's label; empty for none.
	Cluster string

	// Credentials is set if the Secret itself holds credentials.
	Credentials bool
}

// PlaceOf returns the place from a Secret trimmed by TrimPlace.
func PlaceOf(s *corev1.Secret) Place {
	_, credentials := s.Data[trimmed]
	return Place{Name: NameOf(s), Server: ServerOf(s), Cluster: s.Labels[apis.LabelClusterName], Credentials: credentials}
}

// TrimPlace keeps only the fields of a Secret for PlaceOf. Of the config, only the existence of credentials is left.
// It is for caches. Other objects are returned unchanged.
func TrimPlace(obj any) (any, error) {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return obj, nil
	}
	out := &corev1.Secret{TypeMeta: s.TypeMeta, Data: map[string][]byte{}}
	out.Namespace, out.Name, out.UID, out.ResourceVersion = s.Namespace, s.Name, s.UID, s.ResourceVersion
	if cluster, ok := s.Labels[apis.LabelClusterName]; ok {
		out.Labels = map[string]string{apis.LabelClusterName: cluster}
	}
	for _, key := range []string{keyName, keyServer} {
		if value, ok := s.Data[key]; ok && len(value) <= maxServer {
			out.Data[key] = value
		}
	}
	if _, known := s.Data[trimmed]; known || letsIn(s.Data[keyConfig]) {
		out.Data[trimmed] = nil
	}
	return out, nil
}

// letsIn reports whether a config holds credentials: a token, a password or a certificate. A command by which Argo CD
// gets credentials with its own identity does not count.
func letsIn(text []byte) bool {
	var c struct {
		BearerToken, Username, Password string
		TLSClientConfig                 struct{ CertData, KeyData []byte }
	}
	if json.Unmarshal(text, &c) != nil {
		return false
	}
	return c.BearerToken != "" || c.Username != "" && c.Password != "" ||
		len(c.TLSClientConfig.CertData) > 0 && len(c.TLSClientConfig.KeyData) > 0
}

// IsHub reports whether an address means Argo CD's own cluster, or is not an https address.
func IsHub(server string) bool {
	u, err := url.Parse(server)
	return err != nil || u.Scheme != "https" || isHub(u.Hostname())
}
