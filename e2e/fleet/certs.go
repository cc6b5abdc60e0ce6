package fleet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// An authority signs the certificates of a control plane. Each control plane has a separate authority, so a certificate
// for a control plane is not valid on another control plane.
type authority struct {
	cert    *x509.Certificate
	certPEM []byte
	key     crypto.Signer
}

// identity is the subject of a certificate. A server's certificate has no user.
type identity struct {
	user   string
	groups []string
	server bool
}

// A keyPair is a certificate and its key, as PEM.
type keyPair struct {
	cert, key []byte
}

// write writes the pair into a folder. The certificate is written last, because readers check whether the certificate
// exists.
func (p keyPair) write(dir, name string) error {
	if err := os.WriteFile(filepath.Join(dir, name+".key"), p.key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".crt"), p.cert, 0o600)
}

// certificateLife is longer than the life of any fleet. No agent starts to rotate its certificate.
const certificateLife = 10 * 365 * 24 * time.Hour

// openAuthority loads the authority in dir. If dir has no authority, it makes and stores an authority.
func openAuthority(dir, name string) (*authority, error) {
	ca, err := loadAuthority(dir)
	if !errors.Is(err, os.ErrNotExist) {
		return ca, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key)
	if err != nil {
		return nil, fmt.Errorf("making the authority of %s: %w", name, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	ca = &authority{cert: cert, certPEM: encodeCert(cert.Raw), key: key}
	return ca, errors.Join(
		os.WriteFile(filepath.Join(dir, "ca.crt"), ca.certPEM, 0o644),
		os.WriteFile(filepath.Join(dir, "ca.key"), keyPEM, 0o600),
	)
}

func loadAuthority(dir string) (*authority, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	certs, err := certutil.ParseCertsPEM(certPEM)
	if err != nil {
		return nil, fmt.Errorf("%s/ca.crt: %w", dir, err)
	}
	key, err := keyutil.PrivateKeyFromFile(filepath.Join(dir, "ca.key"))
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s/ca.key holds a %T, which cannot sign", dir, key)
	}
	return &authority{cert: certs[0], certPEM: certPEM, key: signer}, nil
}

// issue signs a certificate.
func (a *authority) issue(id identity) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: id.user, Organization: id.groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if id.server {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default.svc"}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("signing a certificate for %q: %w", id.user, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	return keyPair{cert: encodeCert(der), key: keyPEM}, err
}

// WriteCertificates makes an authority in a folder, with a server certificate for this machine and a client certificate
// for a user. The files are ca.crt, server.crt and client.crt, and the keys server.key and client.key.
func WriteCertificates(dir, user string, groups ...string) error {
	ca, err := openAuthority(dir, "an authority of a test")
	if err != nil {
		return err
	}
	for name, id := range map[string]identity{"server": {server: true}, "client": {user: user, groups: groups}} {
		pair, err := ca.issue(id)
		if err != nil {
			return err
		}
		if err := pair.write(dir, name); err != nil {
			return err
		}
	}
	return nil
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func encodeCert(der []byte) []byte {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil // impossible for a new certificate
	}
	data, _ := certutil.EncodeCertificates(cert)
	return data
}
