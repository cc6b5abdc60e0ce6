package argoredis_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/towline-io/towline/pkg/argoredis"
)

type secrets = map[string]map[string][]byte

func data(key, value string) map[string][]byte { return map[string][]byte{key: []byte(value)} }

func TestFind(t *testing.T) {
	for title, tc := range map[string]struct {
		facts argoredis.Facts
		want  argoredis.Endpoint
	}{
		"Argo CD's manifests": {
			argoredis.Facts{Service: "argocd-redis", Secrets: secrets{"argocd-redis": data("auth", "one\n")}},
			argoredis.Endpoint{HostPort: "argocd-redis.argocd.svc:6379", Password: "one"},
		},
		"with high availability": {
			argoredis.Facts{Service: "argocd-redis-ha-haproxy"},
			argoredis.Endpoint{HostPort: "argocd-redis-ha-haproxy.argocd.svc:6379"},
		},
		"Argo CD's operator, with TLS": {
			argoredis.Facts{Service: "openshift-gitops-redis", Secrets: secrets{
				"openshift-gitops-redis-initial-password": data("admin.password", "two"), argoredis.TLS: data("tls.crt", "PEM"),
			}},
			argoredis.Endpoint{HostPort: "openshift-gitops-redis.argocd.svc:6379", Password: "two", TLS: true, CA: []byte("PEM")},
		},
		"an authority of its own": {
			argoredis.Facts{Service: "argocd-redis", Secrets: secrets{argoredis.TLS: {"tls.crt": []byte("PEM"), "ca.crt": []byte("CA")}}},
			argoredis.Endpoint{HostPort: "argocd-redis.argocd.svc:6379", TLS: true, CA: []byte("CA")},
		},
		"what Argo CD was told": {
			argoredis.Facts{Service: "argocd-redis", Params: map[string]string{
				"redis.server": "redis.example.com:6380", "redis.db": "3", "redis.compression": "none",
			}},
			argoredis.Endpoint{HostPort: "redis.example.com:6380", DB: 3, Plain: true},
		},
		"a Service of another name": {
			argoredis.Facts{Params: map[string]string{"redis.server": "mine:6379"}},
			argoredis.Endpoint{HostPort: "mine.argocd.svc:6379"},
		},
		"an address": {
			argoredis.Facts{Params: map[string]string{"redis.server": "[::1]:6379"}},
			argoredis.Endpoint{HostPort: "[::1]:6379"},
		},
		"a Secret that has no password yet": {
			argoredis.Facts{Service: "argocd-redis", Secrets: secrets{"argocd-redis": {}, "argocd-redis-initial-password": data("admin.password", "three")}},
			argoredis.Endpoint{HostPort: "argocd-redis.argocd.svc:6379", Password: "three"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			tc.facts.Namespace = "argocd"
			got, err := argoredis.Find(tc.facts)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestFindNamesTheFix(t *testing.T) {
	for title, tc := range map[string]struct {
		params map[string]string
		none   bool
		says   []string
	}{
		"nothing":             {nil, true, []string{"namespace argocd", "argocd-cmd-params-cm", "openshift-gitops-redis", "--argocd-redis"}},
		"no port":             {map[string]string{"redis.server": "redis"}, false, []string{"argocd/argocd-cmd-params-cm", "redis.server", "host:port"}},
		"no host":             {map[string]string{"redis.server": ":6379"}, false, []string{"host:port"}},
		"no such database":    {map[string]string{"redis.server": "redis:1", "redis.db": "one"}, false, []string{"redis.db", "number"}},
		"a negative database": {map[string]string{"redis.server": "redis:1", "redis.db": "-1"}, false, []string{"redis.db"}},
	} {
		t.Run(title, func(t *testing.T) {
			_, err := argoredis.Find(argoredis.Facts{Namespace: "argocd", Params: tc.params})
			if err == nil || errors.Is(err, argoredis.ErrNone) != tc.none {
				t.Fatalf("got %v", err)
			}
			for _, words := range tc.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("got %v, want %q", err, words)
				}
			}
		})
	}
}

// TestNoAuthorities checks that the system's authorities never replace the lost authority of a Redis.
func TestNoAuthorities(t *testing.T) {
	facts := argoredis.Facts{Namespace: "argocd", Service: "argocd-redis", Secrets: map[string]map[string][]byte{argoredis.TLS: {"tls.crt": nil}}}
	if _, err := argoredis.Find(facts); err == nil || !strings.Contains(err.Error(), "argocd/"+argoredis.TLS+" has neither ca.crt nor tls.crt") {
		t.Errorf("got %v", err)
	}
}

// TestNamesAreInTheDocumentation checks that the documentation has all names, for users whose Redis is not found.
func TestNamesAreInTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append([]string{argoredis.Params, argoredis.TLS}, argoredis.Services...)
	for _, p := range argoredis.Passwords {
		names = append(names, p.Secret, p.Key)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/agent.md does not have %s", name)
		}
	}
}
