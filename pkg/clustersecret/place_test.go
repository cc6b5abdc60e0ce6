package clustersecret_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/clustersecret"
)

func TestPlaceOf(t *testing.T) {
	for config, credentials := range map[string]bool{
		"":                                      false,
		"{}":                                    false,
		"not JSON":                              false,
		`{"bearerToken":"token-1"}`:             true,
		`{"username":"u"}`:                      false,
		`{"username":"u","password":"token-1"}`: true,
		`{"tlsClientConfig":{"insecure":false,"caData":"dG9rZW4tMQ=="}}`:           false,
		`{"tlsClientConfig":{"certData":"dG9rZW4tMQ==","keyData":"dG9rZW4tMQ=="}}`: true,
		`{"execProviderConfig":{"command":"aws"},"awsAuthConfig":{}}`:              false,
	} {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: "s", Labels: map[string]string{apis.LabelClusterName: "cluster1", "env": "dev"}, Annotations: map[string]string{"note": "token-1"},
			},
			Data: map[string][]byte{"name": []byte("one"), "server": []byte("https://one.example.com/"), "config": []byte(config), "shard": []byte("1")},
		}
		trimmed, err := clustersecret.TrimPlace(s)
		if err != nil {
			t.Fatal(err)
		}
		if trimmed, err = clustersecret.TrimPlace(trimmed); err != nil { // a cache also trims listed objects again
			t.Fatal(err)
		}
		want := clustersecret.Place{Name: "one", Server: "https://one.example.com", Cluster: "cluster1", Credentials: credentials}
		if diff := cmp.Diff(want, clustersecret.PlaceOf(trimmed.(*corev1.Secret))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", config, diff)
		}
		if held := trimmed.(*corev1.Secret).String(); strings.Contains(held, "token-1") || strings.Contains(held, "dG9rZW4tMQ") {
			t.Errorf("%s: credentials are held: %s", config, held)
		}
	}
}

func TestIsHub(t *testing.T) {
	for server, want := range map[string]bool{
		apis.InClusterServer:                           true,
		apis.InClusterServer + "/":                     true,
		"https://kubernetes.default.svc.cluster.local": true,
		"https://kubernetes.default.svc:443":           true,
		"https://kubernetes":                           true,
		"http://one.example.com":                       true,
		"":                                             true,
		"https://one.example.com:6443":                 false,
	} {
		if got := clustersecret.IsHub(server); got != want {
			t.Errorf("%s: got %t", server, got)
		}
	}
}
