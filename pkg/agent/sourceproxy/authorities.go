package sourceproxy

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// authorityLife is the validity of a certificate authority.
	authorityLife = 10 * 365 * 24 * time.Hour

	// authorityOverlap is the remaining validity of the newest authority from which the agent makes the next authority.
	// Argo CD then trusts both. The older authority signs until its end is near, so Argo CD trusts the next authority
	// for long before the first use.
	authorityOverlap = 365 * 24 * time.Hour

	// certificateLife is the validity of the proxy's certificate. certificateRenewal is the remaining validity from
	// which the proxy replaces the certificate.
	certificateLife    = 90 * 24 * time.Hour
	certificateRenewal = 30 * 24 * time.Hour

	// skew is the tolerated difference between two clocks.
	skew = time.Hour
)

// authority is a certificate authority of the agent.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// authorities are the valid certificate authorities of the agent, from the oldest to the newest.
type authorities []authority

// newAuthority returns a certificate authority with a new key.
func newAuthority(now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "towline-source " + now.UTC().Format(time.RFC3339)},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	signed, err := signCertificate(template, template, key.Public(), key)
	return authority{certificate: signed, key: key}, err
}

// signCertificate signs the template with a random serial number.
func signCertificate(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// parseAuthorities reads the certificates, and their keys in the same order.
func parseAuthorities(certificates, keys []byte) (authorities, error) {
	parsed, err := cert.ParseCertsPEM(certificates)
	if err != nil {
		return nil, err
	}
	var out authorities
	for _, certificate := range parsed {
		var key crypto.Signer
		if key, keys, err = parseKey(keys); err != nil {
			return nil, err
		}
		public, ok := key.Public().(*ecdsa.PublicKey)
		if !ok || !public.Equal(certificate.PublicKey) || !certificate.IsCA {
			return nil, errors.New("the certificates and the keys do not fit together")
		}
		out = append(out, authority{certificate: certificate, key: key})
	}
	return out, nil
}

// renewed returns the authorities without expired authorities, and with a new authority if the end of the newest
// authority is near.
func (a authorities) renewed(now time.Time) (authorities, error) {
	out := slices.DeleteFunc(slices.Clone(a), func(old authority) bool { return now.After(old.certificate.NotAfter) })
	if len(out) > 0 && out[len(out)-1].certificate.NotAfter.Sub(now) > authorityOverlap {
		return out, nil
	}
	next, err := newAuthority(now)
	return append(out, next), err
}

// due returns the next time at which renewed changes the authorities.
func (a authorities) due() time.Time {
	first, last := a[0].certificate.NotAfter, a[len(a)-1].certificate.NotAfter.Add(-authorityOverlap)
	if first.Before(last) {
		return first
	}
	return last
}

// signer returns the oldest authority that is valid for longer than a certificate.
func (a authorities) signer(now time.Time) authority {
	for _, candidate := range a {
		if candidate.certificate.NotAfter.After(now.Add(certificateLife)) {
			return candidate
		}
	}
	return a[len(a)-1]
}

// certificates returns the certificates in PEM.
func (a authorities) certificates() ([]byte, error) {
	var all []*x509.Certificate
	for _, one := range a {
		all = append(all, one.certificate)
	}
	return cert.EncodeCertificates(all...)
}

// keys returns the private keys in PEM.
func (a authorities) keys() ([]byte, error) {
	var out []byte
	for _, one := range a {
		data, err := keyutil.MarshalPrivateKeyToPEM(one.key)
		if err != nil {
			return nil, err
		}
		out = append(out, data...)
	}
	return out, nil
}

func (a authorities) equal(b authorities) bool {
	return slices.EqualFunc(a, b, func(x, y authority) bool { return x.certificate.Equal(y.certificate) })
}
