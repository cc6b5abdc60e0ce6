package sourceproxy

import (
	"crypto"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// The keys of the Secret with the proxy's own keys.
const (
	passwordKey     = "password"
	certificatesKey = "ca.crt"
	privateKeysKey  = "ca.key"
)

// minPassword is the minimum length of an accepted password.
const minPassword = 16

// keys are the secrets of the proxy.
type keys struct {
	password    string
	authorities authorities
}

// parseKeys reads the data of the Secret.
func parseKeys(data map[string][]byte) (*keys, error) {
	password := string(data[passwordKey])
	if len(password) < minPassword {
		return nil, errors.New("the password is missing or too short")
	}
	authorities, err := parseAuthorities(data[certificatesKey], data[privateKeysKey])
	if err != nil {
		return nil, err
	}
	return &keys{password: password, authorities: authorities}, nil
}

// newKeys returns a random password, without authorities.
func newKeys() *keys { return &keys{password: rand.Text()} }

// renewed returns the keys with the authorities that are needed now, and whether the authorities changed.
func (k *keys) renewed(now time.Time) (out *keys, changed bool, err error) {
	next, err := k.authorities.renewed(now)
	if err != nil {
		return nil, false, err
	}
	return &keys{password: k.password, authorities: next}, !next.equal(k.authorities), nil
}

// data returns the data of the Secret.
func (k *keys) data() (map[string][]byte, error) {
	certificates, err := k.authorities.certificates()
	if err != nil {
		return nil, err
	}
	private, err := k.authorities.keys()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{passwordKey: []byte(k.password), certificatesKey: certificates, privateKeysKey: private}, nil
}

// parseKey returns the first private key in PEM, and the remaining text.
func parseKey(text []byte) (crypto.Signer, []byte, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, nil, errors.New("a private key is missing")
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(pem.EncodeToMemory(block))
	if err != nil {
		return nil, nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("a private key cannot sign")
	}
	return key, rest, nil
}
