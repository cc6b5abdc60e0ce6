package credential

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/cmd/towline-source/internal/git"
	"github.com/towline-io/towline/cmd/towline-source/internal/gittest"
	"github.com/towline-io/towline/pkg/apis"
)

func secret(name, kind string, data ...string) corev1.Secret {
	out := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{apis.LabelSecretType: kind}}, Data: map[string][]byte{}}
	for i := 0; i < len(data); i += 2 {
		out.Data[data[i]] = []byte(data[i+1])
	}
	return out
}

func TestFor(t *testing.T) {
	const repo = "https://git.example.com/team/apps.git"
	secrets := []corev1.Secret{
		secret("template", apis.SecretTypeRepoCreds, "url", "https://git.example.com/team/", "username", "t", "password", "template"),
		secret("of-project", apis.SecretTypeRepository, "url", repo, "project", "mine", "username", "p", "password", "project"),
		secret("without-login", apis.SecretTypeRepository, "url", "https://git.example.com/team/open.git"),
		secret("app", apis.SecretTypeRepository, "url", "https://git.example.com/gh.git", "githubAppID", "7"),
		secret("insecure", apis.SecretTypeRepository, "url", "https://git.example.com/insecure.git", "insecure", "true"),
		secret("lfs", apis.SecretTypeRepository, "url", "https://git.example.com/lfs.git", "enableLfs", "true"),
		secret("no-lfs", apis.SecretTypeRepository, "url", "https://git.example.com/no-lfs.git", "enableLfs", "false", "password", "plain"),
		secret("lfs-template", apis.SecretTypeRepoCreds, "url", "https://git.example.com/ignored/", "enableLfs", "true", "password", "ignored"),
	}
	for name, test := range map[string]struct{ project, address, password, names, fails string }{
		"the Secret of the project":      {"mine", repo, "project", "of-project template", ""},
		"a different project":            {"default", repo, "template", "template", ""},
		"a Secret without a login":       {"default", "https://git.example.com/team/open.git", "template", "without-login template", ""},
		"no Secret":                      {"default", "https://other.example.com/apps.git", "", "", ""},
		"an unsupported login":           {"default", "https://git.example.com/gh.git", "", "", "app has githubAppID"},
		"an unverified server":           {"default", "https://git.example.com/insecure.git", "", "", "argocd-tls-certs-cm"},
		"Git LFS":                        {"default", "https://git.example.com/lfs.git", "", "", "lfs has enableLfs"},
		"no Git LFS":                     {"default", "https://git.example.com/no-lfs.git", "plain", "no-lfs", ""},
		"Git LFS in a template":          {"default", "https://git.example.com/ignored/a.git", "ignored", "lfs-template", ""},
		"a server with a similar name":   {"default", "https://git.example.com.evil.example/team/apps.git", "", "", ""},
		"a repository beside the prefix": {"default", "https://git.example.com/team2/apps.git", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := For(test.project, test.address, secrets)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("the error is %v, without %q", err, test.fails)
				}
				return
			}
			if err != nil || got.data["password"] != test.password || strings.Join(got.Secrets, " ") != test.names {
				t.Errorf("For returns %v, password %q, error %v", got.Secrets, got.data["password"], err)
			}
		})
	}
}

// The real git must log in with the environment, and no argument and no file may have the password.
func TestEnvironment(t *testing.T) {
	server := gittest.New(t)
	access, err := For("default", server.URL, []corev1.Secret{
		secret("a", apis.SecretTypeRepository, "url", server.URL, "username", gittest.User, "password", gittest.Password),
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env, err := access.Environment(server.URL, dir)
	if err != nil {
		t.Fatal(err)
	}
	refs, err := git.ReadRefs(t.Context(), git.Remote{URL: server.URL, Env: env}, nil)
	if err != nil || refs.Head() != "refs/heads/main" {
		t.Errorf("ReadRefs returns HEAD %q, error %v", refs.Head(), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("a login by password needs no file: %v %v", files, err)
	}
	if slices.ContainsFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "GIT_CONFIG_") && strings.Contains(v, gittest.Password)
	}) {
		t.Error("a setting of git has the password")
	}
}

// A server at a different address must not get the login.
func TestLoginForOneServer(t *testing.T) {
	server, other := gittest.New(t), gittest.New(t)
	access := Credential{data: map[string]string{"username": gittest.User, "password": gittest.Password}}
	env, err := access.Environment(other.URL, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := git.ReadRefs(t.Context(), git.Remote{URL: server.URL, Env: env}, nil); err == nil {
		t.Error("a different server got the login")
	}
}

func TestFiles(t *testing.T) {
	access := Credential{CA: "ca", KnownHosts: "hosts", data: map[string]string{
		"sshPrivateKey": "key", "tlsClientCertData": "cert", "tlsClientCertKey": "certkey",
	}}
	for address, want := range map[string]string{
		"git@git.example.com:a.git":   "key known_hosts",
		"ssh://git@git.example.com/a": "key known_hosts",
		"https://git.example.com/a":   "ca.crt client.crt client.key",
	} {
		dir := t.TempDir()
		if _, err := access.Environment(address, dir); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
			if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: the file %s has the mode %v: %v", address, entry.Name(), info.Mode(), err)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: the files are %s, not %s", address, got, want)
		}
	}
}
