package clustersecret

import (
	"encoding/json"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
)

// trimmed is the key that stands for credentials in a trimmed Secret. A cache may trim an object twice. No real Secret can have a key
// with a space.
const trimmed = "has credentials"

// Place is what a cluster Secret tells of the way to its cluster, without what lets anybody in.
type Place struct {
	// Name and Server are what destinations of Applications say.
	Name, Server string

	// Cluster is the ManagedCluster that the Secret is labelled with; empty for none.
	Cluster string

	// Credentials is set where the Secret itself holds some.
	Credentials bool
}

// PlaceOf is that of a Secret that TrimPlace has been at.
func PlaceOf(s *corev1.Secret) Place {
	_, credentials := s.Data[trimmed]
	return Place{Name: NameOf(s), Server: ServerOf(s), Cluster: s.Labels[apis.LabelClusterName], Credentials: credentials}
}

// TrimPlace leaves of a Secret what PlaceOf reads: of its config no more than that it has credentials. It is for caches. Any other
// object is returned as it is.
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

// letsIn tells whether a config holds credentials: a token, a password or a certificate. A command by which Argo CD would get
// some with an identity of its own does not count.
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

// IsHub tells whether an address is one by which an Argo CD means the cluster that it runs on, or is no https address.
func IsHub(server string) bool {
	u, err := url.Parse(server)
	return err != nil || u.Scheme != "https" || isHub(u.Hostname())
}
