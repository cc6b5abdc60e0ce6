package sourceproxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Username is the user name of the cluster's Argo CD.
const Username = "towline"

// identity is the proxy's current password and certificate. The Reconciler replaces the keys at any time.
type identity struct {
	host  string
	clock clock.PassiveClock

	mu          sync.Mutex
	keys        *keys
	certificate *tls.Certificate
}

// set replaces the keys. With other authorities, the next connection gets a new certificate.
func (i *identity) set(k *keys) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys == nil || !i.keys.authorities.equal(k.authorities) {
		i.certificate = nil
	}
	i.keys = k
}

// current returns the present keys, or nil before the first keys.
func (i *identity) current() *keys {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys
}

// permits returns true for the user name and the password of the cluster's Argo CD. The comparison takes the same time
// for each wrong password.
func (i *identity) permits(user, password string) bool {
	k := i.current()
	if k == nil {
		return false
	}
	got, want := sha256.Sum256([]byte(user+"\n"+password)), sha256.Sum256([]byte(Username+"\n"+k.password))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// getCertificate returns the certificate for a connection, and renews the certificate in time.
func (i *identity) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys == nil {
		return nil, errors.New("the agent has no certificate authority yet")
	}
	now := i.clock.Now()
	if i.certificate != nil && i.certificate.Leaf.NotAfter.Sub(now) > certificateRenewal {
		return i.certificate, nil
	}
	issued, err := issue(i.keys.authorities.signer(now), i.host, now)
	if err != nil {
		return nil, err
	}
	i.certificate = issued
	return issued, nil
}

// issue returns a certificate of the host, with a new key.
func issue(by authority, host string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "towline-source"},
		NotBefore:   now.Add(-skew),
		NotAfter:    now.Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	leaf, err := signCertificate(template, by.certificate, key.Public(), by.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}
