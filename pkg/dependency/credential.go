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

// Credentials are the scopes of the hub's credentials for repositories, without the secret values.
type Credentials []Scope

// Scope tells for which repositories a repository Secret of the hub is. It holds no secret value.
type Scope struct {
	// Secret is the name of the hub Secret.
	Secret string

	// Prefix is true if the Secret is for all repositories whose address begins with URL, and false for a single
	// repository.
	Prefix bool

	// URL is the normalized address, as in the Secret's copy on clusters.
	URL string

	// Project is the AppProject whose Applications may use the Secret; empty for all AppProjects.
	Project string

	// Host is the name of a Git server, in the scope of its certificate authority. Then all other fields are empty.
	Host string

	// SSH is true in the scope of the host keys. Then all other fields are empty.
	SSH bool
}

// ReadScope returns the scope of a Secret, and whether the Secret is a repository's. A Secret whose address does not
// name a whole host has no scope, because every host would get the credential. On a hub that is a managed cluster,
// Towline's copies have no scope.
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

// sentAddress returns the address in the copy of a Secret on clusters. Argo CD compares the address of a template
// with the beginning of a repository's address. On clusters, Towline ends the address of a template for a whole host
// with a slash. Otherwise Argo CD would also send the credential to hosts and ports whose names begin with the name
// of the host.
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

// ReadCredentials returns the scopes of all repository Secrets.
func ReadCredentials(secrets []corev1.Secret) Credentials {
	var out Credentials
	for i := range secrets {
		if scope, ok := ReadScope(&secrets[i]); ok {
			out = append(out, scope)
		}
	}
	return out
}

// For returns the names of the Secrets that an Application of the project needs for a repository: the best Secret for
// exactly this repository, and the best Secret for a prefix. As in Argo CD, the longest prefix wins. Among equal
// Secrets, the first by name wins.
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

// Covers reports whether the Secret is for a normalized address. The address of a template is longer than the host's
// name, so all repositories under the address are on the same host.
func (s Scope) Covers(repo string) bool {
	return s.URL == repo || s.Prefix && strings.HasPrefix(repo, s.URL)
}

// Needs reports whether an Application with the spec needs the named Secret.
func (c Credentials) Needs(spec Spec, secret string) bool {
	return slices.ContainsFunc(spec.Repositories, func(repo string) bool {
		return slices.Contains(c.For(spec.Project, repo), secret)
	})
}

// propagates reports whether the owner of a Secret or ConfigMap lets it travel.
func propagates(annotations map[string]string) bool {
	return annotations[apis.AnnotationPropagate] == "true"
}

// keptOnHub reports whether the owner of an AppProject keeps the AppProject on the hub.
func keptOnHub(annotations map[string]string) bool {
	return annotations[apis.AnnotationPropagate] == "false"
}

// CredentialName returns the name of a hub Secret's copy on a cluster. No user of the cluster chooses such a name.
func CredentialName(secret string) string { return fit("towline-"+secret, "", 253) }

// RenderCredential returns the work of a repository's Secret. The work creates the copy in the namespace of the
// cluster's Argo CD.
func RenderCredential(s *corev1.Secret, cluster, namespace string) (*workv1.ManifestWork, error) {
	sent := *s
	sent.Data = maps.Clone(s.Data)
	if _, ok := sent.Data["url"]; ok {
		sent.Data["url"] = []byte(sentAddress(s))
	}
	return render(CredentialKey(cluster, s.Name), Credential, secretObject(&sent, namespace, CredentialName(s.Name), fieldManager))
}
