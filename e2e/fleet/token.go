package fleet

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// tokenSeconds is longer than the life of a fleet, because no token is renewed.
const tokenSeconds = int64(365 * 24 * 60 * 60)

// serviceAccountKubeconfig writes kubeconfig/<plane>-<name>.yaml with a token of an existing ServiceAccount.
func serviceAccountKubeconfig(ctx context.Context, dirs paths, plane string, admin *rest.Config, namespace, name string) (string, error) {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return "", err
	}
	seconds := tokenSeconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token for ServiceAccount %s/%s on %s (apply its manifests first): %w", namespace, name, plane, err)
	}
	path := dirs.kubeconfig(plane + "-" + name)
	return path, writeKubeconfig(path, renderKubeconfig(plane, admin.Host, admin.CAData, tokenUser(answer.Status.Token)))
}

// userKubeconfig writes kubeconfig/<plane>-<user>.yaml with a client certificate signed by the plane's authority.
func userKubeconfig(dirs paths, plane string, admin *rest.Config, user string, groups []string) (string, error) {
	ca, err := loadAuthority(dirs.pki(plane))
	if err != nil {
		return "", fmt.Errorf("authority of %s: %w", plane, err)
	}
	pair, err := ca.issue(identity{user: user, groups: groups})
	if err != nil {
		return "", err
	}
	path := dirs.kubeconfig(plane + "-" + fileName(user))
	return path, writeKubeconfig(path, renderKubeconfig(plane, admin.Host, admin.CAData, certificateUser(pair)))
}

// fileName replaces the characters of a user name that do not fit into a file name.
func fileName(user string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, user)
}
