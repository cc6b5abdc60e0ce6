package sourceproxy

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The names of the objects on the cluster.
const (
	// KeysSecret has the password, the certificate authorities and their keys, in the namespace of the agent.
	KeysSecret = "towline-source-keys"

	// CredentialsSecret has the address and the password for Argo CD, in the namespace of Argo CD.
	CredentialsSecret = "towline-source"

	// CertificatesConfigMap has the certificate authorities of Git servers, in the namespace of Argo CD. Argo CD uses a
	// fixed name.
	CertificatesConfigMap = "argocd-tls-certs-cm"

	// Service has the address of the proxy, in the namespace of the agent.
	Service = "towline-source"
)

// Options are the settings of the proxy.
type Options struct {
	// BindAddress is the address of the proxy's port. If empty, the agent serves no sources.
	BindAddress string

	// Address is the HTTPS address that the cluster's Argo CD uses. If empty, Argo CD uses the Service.
	Address string

	// Namespace is the namespace of the agent.
	Namespace string

	// ArgoCDNamespace is the namespace of the cluster's Argo CD.
	ArgoCDNamespace string
}

// Enabled reports whether the agent serves sources.
func (o Options) Enabled() bool { return o.BindAddress != "" }

// URL returns the address that the cluster's Argo CD uses, with a slash at the end.
func (o Options) URL() (*url.URL, error) {
	address := o.Address
	if address == "" {
		address = "https://" + Service + "." + o.Namespace + ".svc"
	}
	u, err := url.Parse(strings.TrimSuffix(address, "/") + "/")
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" || u.User != nil || u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be an address like https://name or https://name:8443, without a user, a path and a query")
	}
	// The ConfigMap of Argo CD has the name as a key, and a key has no colons. So IPv6 addresses are impossible.
	if host := u.Hostname(); len(validation.IsDNS1123Subdomain(host)) > 0 && net.ParseIP(host).To4() == nil {
		return nil, errors.New("must have a DNS name in lower case or an IPv4 address")
	}
	return u, nil
}
