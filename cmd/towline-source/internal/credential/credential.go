package credential

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/authorization"
	"github.com/towline-io/towline/pkg/dependency"
)

// A Credential is the hub's access to a repository: the data of Argo CD's Secrets, and the trusted authorities and host
// keys. The zero value is the access to a public repository.
type Credential struct {
	// Secrets are the names of the chosen Secrets: first the Secret of exactly this repository, then the template.
	Secrets []string

	// CA are the certificates in PEM that may sign the Git server's certificate; empty for the authorities of the system.
	CA string

	// KnownHosts are the host keys of Git servers, in the format of OpenSSH.
	KnownHosts string

	data map[string]string
}

// An Error is about a Secret or an address that towline-source cannot use.
type Error string

func (e Error) Error() string { return string(e) }

// For returns the credential for a repository of an Application in the project. secrets are all repository Secrets of
// the hub's Argo CD. An Error names a Secret and the unsupported field.
func For(project, address string, secrets []corev1.Secret) (Credential, error) {
	names := dependency.ReadCredentials(secrets).For(project, authorization.NormalizeURL(address))
	out := Credential{Secrets: names, data: map[string]string{}}
	for _, name := range names {
		i := slices.IndexFunc(secrets, func(s corev1.Secret) bool { return s.Name == name })
		data := secrets[i].Data
		if err := supported(&secrets[i]); err != nil {
			return Credential{}, err
		}
		take(out.data, data, "proxy", "noProxy")
		if !hasLogin(out.data) { // as in Argo CD, the template replaces only a missing login
			take(out.data, data, logins...)
		}
	}
	return out, nil
}

// logins are the fields of a Secret for the login at a Git server.
var logins = []string{"username", "password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "tlsClientCertKey"}

func hasLogin(data map[string]string) bool {
	return slices.ContainsFunc(logins, func(key string) bool { return data[key] != "" })
}

func take(to map[string]string, from map[string][]byte, keys ...string) {
	for _, key := range keys {
		if value := string(from[key]); value != "" {
			to[key] = value
		}
	}
}

// supported returns an error for a Secret with a kind of login that towline-source does not have, without the check of the
// server, or with Git LFS. Argo CD (3.5) ignores enableLfs in a template.
func supported(secret *corev1.Secret) error {
	name, data := secret.Name, secret.Data
	on := func(key string) bool { on, _ := strconv.ParseBool(string(data[key])); return on }
	for _, key := range []string{"githubAppID", "githubAppPrivateKey", "gcpServiceAccountKey", "useAzureWorkloadIdentity"} {
		if value := string(data[key]); value != "" && value != "false" {
			return Error(fmt.Sprintf("the Secret %s has %s, which towline-source does not support: use a token or an SSH key", name, key))
		}
	}
	for key, remedy := range map[string]string{
		"insecure":              "add the authority of the server to the ConfigMap argocd-tls-certs-cm",
		"insecureIgnoreHostKey": "add the key of the server to the ConfigMap argocd-ssh-known-hosts-cm",
	} {
		if on(key) {
			const text = "the Secret %s has %s, but towline-source always verifies the server: %s, and remove %s"
			return Error(fmt.Sprintf(text, name, key, remedy, key))
		}
	}
	if on("enableLfs") && secret.Labels[apis.LabelSecretType] == apis.SecretTypeRepository {
		return Error(fmt.Sprintf("the Secret %s has enableLfs, and files of Git LFS do not come through the hub: remove enableLfs if no manifest needs "+
			"such a file, or set the annotation %s=%s on the Application", name, apis.AnnotationSource, apis.SourceDirect))
	}
	return nil
}

// helper answers git's question for a user name and a password from the environment.
const helper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$TOWLINE_USERNAME" "$TOWLINE_PASSWORD"; }; f`

// Environment returns the variables for git, and writes keys and certificates into a folder that only this process may
// read. git sends the login only to the server in the address, also after a redirect. No argument of git has a secret.
func (c Credential) Environment(address, dir string) ([]string, error) {
	if !strings.Contains(address, "://") || strings.HasPrefix(address, "ssh://") {
		return c.ssh(address, dir)
	}
	server, err := serverOf(address)
	if err != nil {
		return nil, err
	}
	e := &environment{dir: dir}
	e.config("credential.useHttpPath", "false")
	if c.data["password"] != "" {
		e.config("credential."+server+".helper", helper)
		// Argo CD uses a user name of its own for a Secret with a password only (2.14, util/git/creds.go).
		e.env = append(e.env, "TOWLINE_USERNAME="+cmp.Or(c.data["username"], "x-access-token"), "TOWLINE_PASSWORD="+c.data["password"])
	}
	if c.data["bearerToken"] != "" {
		e.config("http."+server+".extraHeader", "Authorization: Bearer "+c.data["bearerToken"])
	}
	e.file("http."+server+".sslCAInfo", "ca.crt", c.CA)
	e.file("http."+server+".sslCert", "client.crt", c.data["tlsClientCertData"])
	e.file("http."+server+".sslKey", "client.key", c.data["tlsClientCertKey"])
	if c.data["proxy"] != "" {
		e.config("http.proxy", c.data["proxy"])
		e.env = append(e.env, "no_proxy="+c.data["noProxy"])
	}
	return e.done()
}

// serverOf returns the scheme, host and port of an address.
func serverOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", Error("the address of the repository is not readable")
	}
	return u.Scheme + "://" + u.Host, nil
}

// ssh returns the variables for an address of SSH. OpenSSH reads no configuration of the machine. Argo CD (2.14 and 3.5,
// util/git/client.go) logs in with the user name in the address, also with an empty name, which Git servers refuse. OpenSSH
// would take the name of the process.
func (c Credential) ssh(address, dir string) ([]string, error) {
	if user, _, ok := strings.Cut(strings.TrimPrefix(address, "ssh://"), "@"); !ok || user == "" || strings.ContainsAny(user, "/:") {
		return nil, Error("the address has no user name for SSH: set repoURL to an address with a user name, as in ssh://git@git.example.com/apps.git")
	}
	e := &environment{dir: dir}
	key, known := e.write("key", c.data["sshPrivateKey"]), e.write("known_hosts", c.KnownHosts)
	e.env = append(e.env, "GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND=ssh -F /dev/null -i "+key+" -o IdentitiesOnly=yes -o BatchMode=yes "+
		"-o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=15 -o ServerAliveInterval=15 -o UserKnownHostsFile="+known)
	return e.done()
}

// An environment collects variables and files for git.
type environment struct {
	dir     string
	env     []string
	configs int
	err     error
}

// config adds a setting of git.
func (e *environment) config(key, value string) {
	e.env = append(e.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", e.configs, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", e.configs, value))
	e.configs++
}

// file writes a non-empty text, and adds a setting of git with the path.
func (e *environment) file(key, name, text string) {
	if text != "" {
		e.config(key, e.write(name, text))
	}
}

// write writes a text with a line break at its end, which OpenSSH needs at the end of a key.
func (e *environment) write(name, text string) string {
	path := filepath.Join(e.dir, name)
	if err := os.WriteFile(path, []byte(strings.TrimRight(text, "\n")+"\n"), 0o600); err != nil && e.err == nil {
		e.err = err
	}
	return path
}

func (e *environment) done() ([]string, error) {
	if e.configs > 0 {
		e.env = append(e.env, "GIT_CONFIG_COUNT="+strconv.Itoa(e.configs))
	}
	return e.env, e.err
}
