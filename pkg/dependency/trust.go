package dependency

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// ConfigMaps of Argo CD with trusted certificates and keys. Argo CD uses fixed names for them.
const (
	// CertificatesConfigMap has the certificate authorities of Git servers, by the name of the server.
	CertificatesConfigMap = "argocd-tls-certs-cm"

	// KeysConfigMap has the public keys for signatures of commits, by the ID of the key.
	KeysConfigMap = "argocd-gpg-keys-cm"

	// HostKeysConfigMap has the host keys of Git servers for SSH, as the lines of one text.
	HostKeysConfigMap = "argocd-ssh-known-hosts-cm"
)

// hostKeysEntry is the only key of HostKeysConfigMap that Argo CD reads.
const hostKeysEntry = "ssh_known_hosts"

// replace is the value of the propagate annotation for host keys that replace the text of a cluster.
const replace = "replace"

// partOf is the label of Argo CD's ConfigMaps. Argo CD finds the ConfigMaps by the label.
const partOf = "app.kubernetes.io/part-of"

// keyIDLength is the length of a public key's ID. fingerprintLength is the length of the fingerprint. The fingerprint
// ends with the ID.
const keyIDLength, fingerprintLength = 16, 40

// trustObject returns the manifest for the entries of one work in a ConfigMap of Argo CD. The work agent applies the
// entries under their own field manager, without force. Existing entries of the cluster stay, and an entry goes with
// its last owner.
func trustObject(name, namespace, manager string, entries map[string]string) object {
	return object{
		resource: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: namespace, Name: name},
		manager:  managerOf(manager),
		manifest: struct {
			APIVersion string            `json:"apiVersion"`
			Kind       string            `json:"kind"`
			Metadata   payloadMeta       `json:"metadata"`
			Data       map[string]string `json:"data,omitempty"`
		}{"v1", string(ConfigMapKind), payloadMeta{Namespace: namespace, Name: name, Labels: map[string]string{partOf: "argocd"}}, entries},
	}
}

// renderCertificate returns the work that adds the certificate authority of a Git server to the Argo CD of a cluster.
// The ConfigMap stays on the cluster after the end of the work.
func renderCertificate(cluster, namespace, host, certificate string) (*workv1.ManifestWork, error) {
	return renderTrust(CertificateKey(cluster, host), Certificate, CertificatesConfigMap, namespace, map[string]string{host: certificate})
}

// renderTrust returns a work that sets entries of a ConfigMap of Argo CD. The ConfigMap stays on the cluster after the
// end of the work.
func renderTrust(key types.NamespacedName, kind Kind, configMap, namespace string, entries map[string]string) (*workv1.ManifestWork, error) {
	w, err := render(key, kind, trustObject(configMap, namespace, key.Name, entries))
	if err == nil {
		w.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	}
	return w, err
}

// FinalCertificate returns the last state of a certificate's work before its deletion: the work agent removes the
// entry.
func FinalCertificate(w *workv1.ManifestWork, namespace string) (*workv1.ManifestWork, error) {
	if len(w.Spec.ManifestConfigs) == 1 {
		namespace = w.Spec.ManifestConfigs[0].ResourceIdentifier.Namespace
	}
	return renderTrust(keyOf(w), Certificate, CertificatesConfigMap, namespace, nil)
}

// renderHostKeys returns the work that sets the host keys of a cluster's Argo CD to a text. The text stays on the
// cluster after the end of the work.
func renderHostKeys(cluster, namespace, text string) (*workv1.ManifestWork, error) {
	return renderTrust(HostKeysKey(cluster), HostKeys, HostKeysConfigMap, namespace, map[string]string{hostKeysEntry: text})
}

// replacesHostKeys reports whether the hub's host keys replace the text of a cluster, by the annotation of the hub's
// ConfigMap.
func replacesHostKeys(c *corev1.ConfigMap) bool {
	return c.Annotations[apis.AnnotationPropagate] == replace
}

// SameTrust reports whether two versions of a ConfigMap have the same entries and the same permission to travel.
func SameTrust(a, b *corev1.ConfigMap) bool {
	return maps.Equal(a.Data, b.Data) && a.Annotations[apis.AnnotationPropagate] == b.Annotations[apis.AnnotationPropagate]
}

// ReadCertificates returns the scopes of the certificate authorities that may travel.
func ReadCertificates(c *corev1.ConfigMap) (out Credentials) {
	if c == nil || !propagates(c.Annotations) {
		return nil
	}
	for _, host := range slices.Sorted(maps.Keys(c.Data)) {
		if len(validation.IsDNS1123Subdomain(host)) == 0 {
			out = append(out, Scope{Host: host})
		}
	}
	return out
}

// ReadHostKeys returns the scope of the host keys, if the host keys may travel.
func ReadHostKeys(c *corev1.ConfigMap) Credentials {
	if hostKeys(c) == "" {
		return nil
	}
	return Credentials{{SSH: true}}
}

// hostKeys returns the host keys of the hub; empty if they may not travel.
func (f *Facts) hostKeys() string { return hostKeys(f.HostKeys) }

func hostKeys(c *corev1.ConfigMap) string {
	if c == nil || !propagates(c.Annotations) && !replacesHostKeys(c) {
		return ""
	}
	return c.Data[hostKeysEntry]
}

// hostname returns the server name of a normalized address, without the port; empty for an address without TLS.
func hostname(normalized string) string {
	scheme, rest, ok := strings.Cut(normalized, "://")
	if !ok {
		rest = normalized // the address of an OCI registry, or of SSH
	}
	host, _, _ := strings.Cut(rest, "/")
	user := strings.LastIndex(host, "@")
	if ok && scheme != "https" && scheme != "oci" || !ok && user >= 0 {
		return ""
	}
	host, _, _ = strings.Cut(host[user+1:], ":")
	return host
}

// connects reports whether an Application with the spec reads from a server.
func (s Spec) connects(host string) bool {
	return slices.ContainsFunc(s.Repositories, func(repo string) bool { return hostname(repo) == host })
}

// connectsBySSH reports whether an Application with the spec reads a repository by SSH.
func (s Spec) connectsBySSH() bool { return slices.ContainsFunc(s.Repositories, overSSH) }

// overSSH reports whether a normalized address names a user before the host and no scheme. Argo CD (2.14 and 3.5) takes
// the same addresses for SSH. An address ssh://host without a user is not among them.
func overSSH(normalized string) bool {
	host, _, _ := strings.Cut(normalized, "/")
	return strings.Contains(host, "@")
}

// certificate returns the hub's entry for the work of a certificate; empty if no such entry may travel.
func (f *Facts) certificate() (host, pem string) {
	for _, s := range ReadCertificates(f.Certificates) {
		if CertificateKey(f.Key.Namespace, s.Host) == f.Key {
			return s.Host, f.Certificates.Data[s.Host]
		}
	}
	return "", ""
}

// SignatureKeys returns the sorted IDs of an AppProject's public keys for signatures of commits, from signatureKeys
// and from the sourceIntegrity of Argo CD 3.5.
func SignatureKeys(p *argocd.AppProject) []string {
	var spec struct {
		SignatureKeys []struct {
			KeyID string `json:"keyID"`
		} `json:"signatureKeys"`
		SourceIntegrity struct {
			Git struct {
				Policies []struct {
					GPG struct {
						Keys []string `json:"keys"`
					} `json:"gpg"`
				} `json:"policies"`
			} `json:"git"`
		} `json:"sourceIntegrity"`
	}
	if p == nil || len(p.Spec.Raw) == 0 || json.Unmarshal(p.Spec.Raw, &spec) != nil {
		return nil
	}
	var out []string
	for _, k := range spec.SignatureKeys {
		out = append(out, keyID(k.KeyID))
	}
	for _, policy := range spec.SourceIntegrity.Git.Policies {
		for _, k := range policy.GPG.Keys {
			out = append(out, keyID(k))
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id string) bool { return id == "" })
}

// keyID returns the ID of a public key, from the ID or the fingerprint; empty for other text. Argo CD (2.14 and 3.5)
// compares keys in the same way.
func keyID(s string) string {
	if len(s) == fingerprintLength {
		s = s[fingerprintLength-keyIDLength:]
	}
	if len(s) != keyIDLength || strings.Trim(s, "0123456789abcdefABCDEF") != "" {
		return ""
	}
	return s
}

// signatureKeys returns the public keys for the AppProject's work, and the IDs of the keys that the hub lacks.
func (f *Facts) signatureKeys() (entries map[string]string, missing []string) {
	if f.Keys != nil && keptOnHub(f.Keys.Annotations) {
		return nil, nil
	}
	entries = map[string]string{}
	for _, id := range SignatureKeys(f.Project) {
		if f.Keys == nil || f.Keys.Data[id] == "" {
			missing = append(missing, id)
		} else {
			entries[id] = f.Keys.Data[id]
		}
	}
	return entries, missing
}

// addKeys adds the public keys to the work of an AppProject. before is the present work; nil for none. If before sets
// keys, the new work keeps the part for keys, even without keys: an empty part makes the agent remove the old keys.
func addKeys(w, before *workv1.ManifestWork, namespace string, entries map[string]string) error {
	if len(entries) == 0 && (before == nil || !setsKeys(before)) {
		return nil
	}
	part, err := render(keyOf(w), Project, trustObject(KeysConfigMap, namespace, w.Name, entries))
	if err != nil {
		return err
	}
	join(w, part)
	return checkSize(w)
}

// keepKeys copies the part for public keys from the present work, so the keys stay on the cluster.
func keepKeys(w, before *workv1.ManifestWork) {
	i := slices.IndexFunc(before.Spec.ManifestConfigs, ofKeys)
	if i < 0 || i >= len(before.Spec.Workload.Manifests) {
		return
	}
	part := before.DeepCopy()
	part.Spec.Workload.Manifests = part.Spec.Workload.Manifests[i : i+1]
	part.Spec.ManifestConfigs = part.Spec.ManifestConfigs[i : i+1]
	join(w, part)
}

// join adds the manifests of part to a work.
func join(w, part *workv1.ManifestWork) {
	w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, part.Spec.Workload.Manifests...)
	w.Spec.ManifestConfigs = append(w.Spec.ManifestConfigs, part.Spec.ManifestConfigs...)
}

// setsKeys reports whether the work of an AppProject has a part for public keys.
func setsKeys(w *workv1.ManifestWork) bool {
	return slices.ContainsFunc(w.Spec.ManifestConfigs, ofKeys)
}

// ofKeys reports whether a part of a work is for public keys.
func ofKeys(c workv1.ManifestConfigOption) bool {
	return c.ResourceIdentifier.Name == KeysConfigMap && c.ResourceIdentifier.Group == ""
}
