package dependency

import (
	"cmp"
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

	// URL is the normalized address.
	URL string

	// Project is the AppProject whose Applications may use it; empty for all.
	Project string
}

// ReadScope reads the scope of a Secret, and tells whether it is a repository's. One whose address does not name a whole
// host is taken for none: it would be for everybody's. So is what Towline itself brought, to a cluster that is the hub.
func ReadScope(s *corev1.Secret) (Scope, bool) {
	kind := s.Labels[apis.LabelSecretType]
	scope := Scope{
		Secret: s.Name, Prefix: kind == apis.SecretTypeRepoCreds,
		URL: authorization.NormalizeURL(string(s.Data["url"])), Project: string(s.Data["project"]),
	}
	return scope, s.Labels[apis.LabelPulled] != "true" && (scope.Prefix || kind == apis.SecretTypeRepository) && Host(scope.URL) != ""
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

// Covers tells whether the Secret is for a normalized address. One for a prefix is for addresses of the same host only:
// Argo CD would show the credentials for git.example.com to git.example.com.attacker.example as well, which no cluster
// needs.
func (s Scope) Covers(repo string) bool {
	if !s.Prefix {
		return s.URL == repo
	}
	return strings.HasPrefix(repo, s.URL) && Host(repo) == Host(s.URL)
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
	return render(CredentialKey(cluster, s.Name), Credential, secretObject(s, namespace, CredentialName(s.Name), fieldManager))
}
