// Code generated from e2e/programs/argocd by make generate. DO NOT EDIT.

package argocd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/settings"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

// TestCopiesOfCredentials compares Argo CD's own lookup with the table of the credentials that Towline sends.
func TestCopiesOfCredentials(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "pkg/dependency/testdata/credentials.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Type, URL, Sent string
		Given, Denied   []string
	}
	if err := yaml.UnmarshalStrict(data, &table); err != nil || len(table) == 0 {
		t.Fatal(err, "the table cannot be read")
	}
	for _, tc := range table {
		if tc.Sent == "" {
			continue
		}
		cluster := clusterWith(t, tc.Type, tc.Sent)
		for _, repo := range append(tc.Given, tc.Denied...) {
			found, err := cluster.GetRepository(t.Context(), repo, "default")
			if err != nil {
				t.Fatal(err)
			}
			if got := found.Password != ""; got != slices.Contains(tc.Given, repo) {
				t.Errorf("%s %q: Argo CD uses the credential for %q: %t", tc.Type, tc.Sent, repo, got)
			}
		}
		for _, repo := range tc.Denied { // Argo CD compares the repositories of a chart's dependencies without normalizing them
			if tc.Type == common.LabelValueSecretTypeRepoCreds && strings.HasPrefix(repo, tc.Sent) {
				t.Errorf("%q begins with %q, and a chart may name it as a dependency", repo, tc.Sent)
			}
		}
	}
}

// clusterWith returns the database of a cluster's Argo CD with a credential for an address.
func clusterWith(t *testing.T, kind, url string) db.ArgoDB {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "argocd", Name: name, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}
	}
	credential := &corev1.Secret{ObjectMeta: meta("credential"), Data: map[string][]byte{
		"url": []byte(url), "username": []byte("bot"), "password": []byte("hunter2"),
	}}
	credential.Labels[common.LabelKeySecretType] = kind
	client := fake.NewSimpleClientset(credential, &corev1.ConfigMap{ObjectMeta: meta(common.ArgoCDConfigMapName)},
		&corev1.Secret{ObjectMeta: meta(common.ArgoCDSecretName)})
	return db.NewDB("argocd", settings.NewSettingsManager(t.Context(), client, "argocd"), client)
}
