package dependency

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
)

// Credentials are what a hub has for repositories, without the credentials themselves.
type Credentials []Scope

// Scope says what a repository Secret of the hub is for. It holds nothing that is secret.
type Scope struct {
	// Secret is the name of the hub Secret.
	Secret string

	// Prefix tells that it is for all repositories whose address begins with URL, not for one only.
	Prefix bool

	// URL is the normalized address, as the Secret has it on clusters.
	URL string

	// Project is the AppProject whose Applications may use it; empty for all.
	Project string

	// Host is the name of a Git server, in the scope of its certificate authority. Then all other fields are empty.
	Host string
}

// ReadScope reads the scope of a Secret, and tells whether it is a repository's. A Secret whose address does not name a whole
// host has no scope: every host would get it. On a hub that is a managed cluster, Towline's copies have no scope.
func ReadScope(s *corev1.Secret) (Scope, bool) {
	kind := s.Labels[apis.LabelSecretType]
	scope := Scope{
		Secret: s.Name, Prefix: kind == apis.SecretTypeRepoCreds,
		URL: authorization.NormalizeURL(sentAddress(s)), Project: string(s.Data["project"]),
	}
	host := Host(authorization.NormalizeURL(string(s.Data["url"])))
	switch {
	case s.Labels[apis.LabelPulled] == "true", host == "", Host(scope.URL) != host:
		return scope, false
	case scope.Prefix:
		return scope, scope.URL != host
	}
	return scope, kind == apis.SecretTypeRepository
}

// sentAddress is the address that a Secret has on clusters. Argo CD compares the address of a template with the beginning of
// a repository's address. So a template for a whole host ends in a slash on clusters: otherwise, Argo CD would also send the
// credential to hosts and ports whose names begin with the name of the host.
func sentAddress(s *corev1.Secret) string {
	address := string(s.Data["url"])
	normalized := authorization.NormalizeURL(address)
	if s.Labels[apis.LabelSecretType] != apis.SecretTypeRepoCreds || Host(normalized) != normalized {
		return address
	}
	address = strings.TrimSpace(address)
	if bare := len(address) - len(".git"); bare > 0 && strings.EqualFold(address[bare:], ".git") { // as Argo CD compares addresses
		address = address[:bare]
	}
	return address + "/"
}

// ReadCredentials are the scopes of all Secrets that are a repository's.
func ReadCredentials(secrets []corev1.Secret) Credentials {
	var out Credentials
	for i := range secrets {
		if scope, ok := ReadScope(&secrets[i]); ok {
			out = append(out, scope)
		}
	}
	return out
}

// For are the names of the Secrets that an Application of the project needs for a repository: of those for exactly that
// repository the one that Argo CD would take, and of those for a prefix the one with the longest. Where several are
// equal, it is the first by name.
func (c Credentials) For(project, repo string) []string {
	var exact, prefix []Scope
	for _, s := range c {
		switch {
		case s.Project != "" && s.Project != project:
		case !s.Covers(repo):
		case s.Prefix:
			prefix = append(prefix, s)
		default:
			exact = append(exact, s)
		}
	}
	better := func(a, b Scope) int {
		return cmp.Or(cmp.Compare(len(b.URL), len(a.URL)), cmp.Compare(b.Project, a.Project), cmp.Compare(a.Secret, b.Secret))
	}
	var out []string
	for _, fitting := range [][]Scope{exact, prefix} {
		if len(fitting) > 0 {
			out = append(out, slices.MinFunc(fitting, better).Secret)
		}
	}
	return out
}

// Covers tells whether the Secret is for a normalized address. The address of a template goes beyond the host's name, so
// the repositories that begin with it are all on the same host.
func (s Scope) Covers(repo string) bool {
	return s.URL == repo || s.Prefix && strings.HasPrefix(repo, s.URL)
}

// Needs tells whether an Application with that spec needs the Secret of that name.
func (c Credentials) Needs(spec Spec, secret string) bool {
	return slices.ContainsFunc(spec.Repositories, func(repo string) bool {
		return slices.Contains(c.For(spec.Project, repo), secret)
	})
}

// Propagates tells whether the owner of a Secret or ConfigMap lets it travel.
func Propagates(annotations map[string]string) bool {
	return annotations[apis.AnnotationPropagate] == "true"
}

// KeptOnHub tells whether the owner of an AppProject keeps it on the hub.
func KeptOnHub(annotations map[string]string) bool {
	return annotations[apis.AnnotationPropagate] == "false"
}

// CredentialName is the name of a hub Secret on a cluster: one that nobody there gives to a Secret of his own.
func CredentialName(secret string) string { return fit("towline-"+secret, "", 253) }

// RenderCredential is the work that carries a repository's Secret to a cluster, into the namespace of the Argo CD there.
func RenderCredential(s *corev1.Secret, cluster, namespace string) (*workv1.ManifestWork, error) {
	sent := *s
	sent.Data = maps.Clone(s.Data)
	if _, ok := sent.Data["url"]; ok {
		sent.Data["url"] = []byte(sentAddress(s))
	}
	return render(CredentialKey(cluster, s.Name), Credential, secretObject(&sent, namespace, CredentialName(s.Name), fieldManager))
}
