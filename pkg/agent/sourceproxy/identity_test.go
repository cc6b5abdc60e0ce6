package sourceproxy

import (
	"context"
	"crypto/tls"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCertificatesOverThirtyYears steps through thirty years. At each step, Argo CD trusts the authorities of a month
// ago, because a ConfigMap arrives late in a pod. The proxy is not restarted.
func TestCertificatesOverThirtyYears(t *testing.T) {
	s := start(t, nil)
	host := strings.TrimPrefix(s.url, "https://")
	trusted := s.identity.current().authorities
	leaves, most := map[string]bool{}, 0
	for range 30 * 12 {
		s.clock.SetTime(s.clock.Now().Add(30 * 24 * time.Hour))
		k, changed, err := s.identity.current().renewed(s.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if due := s.identity.current().authorities.due(); changed != !due.After(s.clock.Now()) {
			t.Errorf("%s: changed %t, due %s", s.clock.Now(), changed, due)
		}
		s.identity.set(k)
		connection, err := (&tls.Dialer{Config: s.trust(t, trusted)}).DialContext(t.Context(), "tcp", host)
		if err != nil {
			t.Fatalf("%s: %v", s.clock.Now(), err)
		}
		leaf := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
		connection.Close()
		leaves[leaf.SerialNumber.String()] = true
		if left := leaf.NotAfter.Sub(s.clock.Now()); left < certificateRenewal-time.Minute {
			t.Errorf("%s: the certificate ends in %s", s.clock.Now(), left)
		}
		trusted, most = k.authorities, max(most, len(k.authorities))
	}
	if len(leaves) < 30*4 || most != 2 {
		t.Errorf("%d certificates, at most %d authorities at a time", len(leaves), most)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	s := start(t, nil)
	config := s.trust(t, s.identity.current().authorities)
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err := (&tls.Dialer{Config: config}).DialContext(context.Background(), "tcp", strings.TrimPrefix(s.url, "https://")); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
}

func TestKeysInASecret(t *testing.T) {
	now := time.Now()
	k, _, err := newKeys().renewed(now)
	if err != nil {
		t.Fatal(err)
	}
	k, _, err = k.renewed(now.Add(authorityLife - authorityOverlap + time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	data, err := k.data()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseKeys(data)
	if err != nil || got.password != k.password || len(got.authorities) != 2 || !got.authorities.equal(k.authorities) {
		t.Errorf("%v", err)
	}
	again, err := got.data()
	if diff := cmp.Diff(data, again); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	for title, edit := range map[string]func(map[string][]byte){
		"empty":          func(d map[string][]byte) { clear(d) },
		"no password":    func(d map[string][]byte) { delete(d, passwordKey) },
		"short password": func(d map[string][]byte) { d[passwordKey] = []byte("short") },
		"no certificate": func(d map[string][]byte) { delete(d, certificatesKey) },
		"no key":         func(d map[string][]byte) { delete(d, privateKeysKey) },
		"broken key":     func(d map[string][]byte) { d[privateKeysKey] = []byte("broken") },
		"other order": func(d map[string][]byte) {
			first, rest, err := parseKey(d[privateKeysKey])
			if err != nil || first == nil {
				t.Fatal(err)
			}
			d[privateKeysKey] = rest
		},
	} {
		d := maps.Clone(data)
		if edit(d); len(d) > 0 {
			if _, err := parseKeys(d); err == nil {
				t.Errorf("%s: accepted", title)
			}
		} else if _, err := parseKeys(d); err == nil {
			t.Errorf("%s: accepted", title)
		}
	}
}

func TestAddressForArgoCD(t *testing.T) {
	for address, want := range map[string]string{
		"":                           "https://towline-source.agents.svc/",
		"https://127.0.0.1:8444":     "https://127.0.0.1:8444/",
		"https://source.example":     "https://source.example/",
		"https://source.example/":    "https://source.example/",
		"http://source.example":      "",
		"source.example":             "",
		"https://":                   "",
		"https://Source.example":     "",
		"https://[::1]:8444":         "",
		"https://source.example/git": "",
		"https://a:b@source.example": "",
		"https://source.example?a=b": "",
		"https://source.example#a":   "",
		"https://source_a.example":   "",
		"https://source.example:x":   "",
	} {
		got, err := Options{Namespace: "agents", Address: address}.URL()
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v", address, got, err)
		}
	}
}
