package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

func TestAuthorityIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if _, err := loadAuthority(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	first, err := openAuthority(dir, "hub")
	if err != nil {
		t.Fatal(err)
	}
	again, err := openAuthority(dir, "hub")
	if err != nil || !again.cert.Equal(first.cert) {
		t.Errorf("a second opening made another authority, %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ca.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key: %v, %v", info.Mode(), err)
	}
}

func TestCertificatesAreForOneControlPlane(t *testing.T) {
	hub, err := openAuthority(t.TempDir(), "hub")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := openAuthority(t.TempDir(), "cluster1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := hub.issue(identity{user: "admin", groups: []string{"system:masters"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(pair.cert, pair.key); err != nil {
		t.Fatal(err)
	}
	certs, err := certutil.ParseCertsPEM(pair.cert)
	if err != nil {
		t.Fatal(err)
	}
	if certs[0].Subject.CommonName != "admin" || !slices.Equal(certs[0].Subject.Organization, []string{"system:masters"}) {
		t.Errorf("subject %v", certs[0].Subject)
	}
	if err := verify(certs[0], hub, x509.ExtKeyUsageClientAuth); err != nil {
		t.Error(err)
	}
	if err := verify(certs[0], hub, x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("a user's certificate serves as a server's")
	}
	if err := verify(certs[0], cluster, x509.ExtKeyUsageClientAuth); err == nil {
		t.Error("the hub's admin is one on the cluster")
	}
}

func verify(cert *x509.Certificate, ca *authority, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	_, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestKubeconfigRoundTrip(t *testing.T) {
	dirs := paths{t.TempDir()}
	if err := dirs.create(); err != nil {
		t.Fatal(err)
	}
	ca, err := openAuthority(dirs.pki("hub"), "hub")
	if err != nil {
		t.Fatal(err)
	}
	path := dirs.kubeconfig("hub")
	if err := writeKubeconfig(path, renderKubeconfig("hub", "https://127.0.0.1:1", ca.certPEM, tokenUser("secret"))); err != nil {
		t.Fatal(err)
	}
	admin, err := loadRESTConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if admin.Host != "https://127.0.0.1:1" || admin.BearerToken != "secret" || admin.QPS >= 0 {
		t.Errorf("got %v, QPS %v", admin, admin.QPS)
	}
	file, err := userKubeconfig(dirs, "hub", admin, "tenant:a/b", []string{"tenants"})
	if err != nil || filepath.Base(file) != "hub-tenant_a_b.yaml" {
		t.Fatalf("got %q, %v", file, err)
	}
	user, err := loadRESTConfig(file)
	if err != nil || len(user.CertData) == 0 || user.BearerToken != "" {
		t.Errorf("got %v, %v", user, err)
	}
	if _, err := userKubeconfig(dirs, "elsewhere", admin, "a", nil); err == nil {
		t.Error("a control plane that is not there signs")
	}
}
