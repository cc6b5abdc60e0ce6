package maestro

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	workv1 "open-cluster-management.io/api/work/v1"
	pb "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/towline-io/towline/cmd/towline-maestro/internal/bundle"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return &authority{must(certutil.NewSelfSignedCACert(certutil.Config{CommonName: "ca"}, key))(t), key}
}

// write writes a new certificate and a new key of a user, and the certificate of the authority, into a folder.
func (a *authority) write(t *testing.T, dir, user string) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: user}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key))(t)
	cert := must(certutil.EncodeCertificates(must(x509.ParseCertificate(der))(t)))(t)
	for name, data := range map[string][]byte{
		"tls.crt": cert, "tls.key": must(keyutil.MarshalPrivateKeyToPEM(key))(t), "ca.crt": must(certutil.EncodeCertificates(a.cert))(t),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// users is a server of Maestro's gRPC API. For each request, asked receives the user in the client's certificate.
type users struct {
	pb.UnimplementedCloudEventServiceServer

	asked chan string
}

func (u *users) Publish(ctx context.Context, _ *pb.PublishRequest) (*emptypb.Empty, error) {
	from, _ := peer.FromContext(ctx)
	info, _ := from.AuthInfo.(credentials.TLSInfo)
	u.asked <- info.State.VerifiedChains[0][0].Subject.CommonName
	return &emptypb.Empty{}, nil
}

// serve starts a server at an address. serve returns the address in use, and a function to stop the server and the
// connections.
func (a *authority) serve(t *testing.T, address string, u *users) (string, func()) {
	t.Helper()
	dir := t.TempDir()
	a.write(t, dir, "maestro")
	cert := must(tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")))(t)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS13,
	})))
	pb.RegisterCloudEventServiceServer(server, u)
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", address))(t)
	go func() { _ = server.Serve(listener) }() // runs until stop
	stop := func() {
		server.Stop()
		_ = listener.Close() // A server without a started Serve does not close the listener.
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// TestCertificates: the client reads the client certificate and the authorities for each connection. The client and the
// server refuse a peer with a certificate of a different authority.
func TestCertificates(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	maestro := &users{asked: make(chan string, 10)}
	address, stop := ours.serve(t, "127.0.0.1:0", maestro)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	ours.write(t, dir, "first")
	client := must(New(Options{
		URL: "https://" + address, GRPC: address, Source: "towline", CAFile: file("ca.crt"), CertFile: file("tls.crt"), KeyFile: file("tls.key"),
	}))(t)
	defer client.Close()
	again := func() {
		stop()
		client.conn.WaitForStateChange(t.Context(), connectivity.Ready) // returns at once without a connection
		_, stop = ours.serve(t, address, maestro)
	}
	made := bundle.New(bundle.NewIDs("towline", bundle.NewKey()), &workv1.ManifestWork{}, time.Now())
	event := must(bundle.Event("towline", cetypes.CreateRequestAction, made))(t)

	for _, user := range []string{"first", "second"} {
		ours.write(t, dir, user)
		again()
		if err := client.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		if asked := <-maestro.asked; asked != user {
			t.Errorf("Maestro was asked by %q: the files are of %q", asked, user)
		}
	}

	others.write(t, dir, "third")
	again()
	if err := client.Publish(t.Context(), event); err == nil || !Unreachable(err) {
		t.Errorf("a certificate of another authority: %v", err)
	}
	stranger := must(New(Options{URL: "https://" + address, GRPC: address, Source: "towline", CAFile: file("ca.crt")}))(t)
	defer stranger.Close()
	if err := stranger.Publish(t.Context(), event); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("Maestro with a certificate of another authority: %v", err)
	}
	if len(maestro.asked) > 0 {
		t.Error("Maestro was asked nevertheless")
	}

	// Maestro gets a new authority, and the client reads the new authority from the file.
	stop()
	_, _ = others.serve(t, address, maestro)
	others.write(t, dir, "fourth")
	wait := grpc.WaitForReady(true) // The client tries the connection again after a while.
	if _, err := client.events.Publish(t.Context(), &pb.PublishRequest{}, wait); err != nil {
		t.Fatal(err)
	}
	if asked := <-maestro.asked; asked != "fourth" {
		t.Errorf("Maestro was asked by %q: the files are of %q", asked, "fourth")
	}
}

// TestAnswers: IsAnswer distinguishes errors about a work from errors about the client.
func TestAnswers(t *testing.T) {
	for words, want := range map[string]bool{
		"failed to create resource: it exists":               true,
		"failed to get resource: not found":                  true,
		"failed to update resource: the version":             true,
		"failed to delete resource: the database":            true,
		"failed to authorize the request: no":                false,
		"unauthorized to publish the event from source a":    false,
		"token not authenticated":                            false,
		"transport: per-RPC creds failed due to error: file": false,
	} {
		if got := IsAnswer(status.Error(codes.Unknown, words)); got != want {
			t.Errorf("%q: %t", words, got)
		}
	}
	if IsAnswer(nil) {
		t.Error("no error is no such answer")
	}
}

// TestNoErrorHasTheToken: no error contains the token, even for a token with characters not allowed in a request.
func TestNoErrorHasTheToken(t *testing.T) {
	ours, dir := newAuthority(t), t.TempDir()
	address, _ := ours.serve(t, "127.0.0.1:0", &users{asked: make(chan string, 1)})
	ours.write(t, dir, "towline")
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("token"), []byte("first\nsecret-word"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := must(New(Options{
		URL: "https://" + address, GRPC: address, CAFile: file("ca.crt"), CertFile: file("tls.crt"), KeyFile: file("tls.key"), TokenFile: file("token"),
	}))(t)
	defer client.Close()
	_, reading := client.Get(t.Context(), "any")
	_, writing := client.events.Publish(t.Context(), &pb.PublishRequest{})
	for _, err := range []error{reading, writing, client.Subscribe(t.Context(), nil)} {
		if err == nil || strings.Contains(err.Error(), "secret-word") || strings.Contains(err.Error(), "first") {
			t.Errorf("%v", err)
		}
	}
}

// TestTheRESTClientFollowsItsFiles: the REST client accepts a new authority of Maestro from the changed file, and
// returns an error for an invalid file.
func TestTheRESTClientFollowsItsFiles(t *testing.T) {
	dir, tokens := t.TempDir(), make(chan string, 10)
	file := func(name string) string { return filepath.Join(dir, name) }
	var client *Client
	for _, of := range []*authority{newAuthority(t), newAuthority(t)} {
		of.write(t, dir, "towline")
		cert := must(tls.LoadX509KeyPair(file("tls.crt"), file("tls.key")))(t)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tokens <- r.Header.Get("Authorization")
			w.WriteHeader(http.StatusNotFound)
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
		server.EnableHTTP2 = true
		server.StartTLS()
		defer server.Close()
		if client == nil {
			if err := os.WriteFile(file("token"), []byte("word\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			client = must(New(Options{URL: server.URL, GRPC: "127.0.0.1:1", CAFile: file("ca.crt"), TokenFile: file("token")}))(t)
			defer client.Close()
		}
		client.url = server.URL
		if _, err := client.Get(t.Context(), "any"); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if token := <-tokens; token != "Bearer word" {
			t.Errorf("the token is %q", token)
		}
		if err := os.WriteFile(file("ca.crt"), []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
		server.CloseClientConnections()
		expectNoAuthority(t, client)
	}
}

// expectNoAuthority waits until a new connection of the client fails because of the file of authorities. Until the
// client notices the end of the old connection, requests may still use the old connection.
func expectNoAuthority(t *testing.T, client *Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		_, err := client.Get(ctx, "any")
		if err != nil && strings.Contains(err.Error(), "authorities of Maestro") {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("a file without a certificate: %v", err)
		}
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// TestNoErrorHasAnID: no error contains the id of a bundle, because writers of works get the errors, and tenants read
// the errors in conditions.
func TestNoErrorHasAnID(t *testing.T) {
	const id = "0c0ffee0-1234-8abc-8def-0123456789ab"
	for name, tc := range map[string]struct {
		err  error
		want string
		code codes.Code
	}{
		"of the gRPC server": {
			status.Error(codes.Unavailable, "failed to get resource: Resource with id='"+id+"' not found"),
			"failed to get resource: Resource with id='…' not found", codes.Unavailable,
		},
		"of the REST client": {fmt.Errorf("Get /resource-bundles/%s: %w", id, ErrNotFound), "Get /resource-bundles/…: not found in Maestro", codes.Unknown},
	} {
		got := withoutIDs(tc.err)
		if strings.Contains(got.Error(), id) || !strings.Contains(got.Error(), tc.want) || status.Code(got) != tc.code {
			t.Errorf("%s: %v, code %s", name, got, status.Code(got))
		}
		if errors.Is(tc.err, ErrNotFound) != errors.Is(got, ErrNotFound) {
			t.Errorf("%s: it is another error", name)
		}
	}
	if withoutIDs(nil) != nil {
		t.Error("no error is an error")
	}
}

// TestARequestThatFailsHidesItsID: the error of a failed REST request does not contain the id from the path, with or
// without an answer of Maestro.
func TestARequestThatFailsHidesItsID(t *testing.T) {
	const id = "0c0ffee0-1234-8abc-8def-0123456789ab"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"reason":"Unable to read Resource with id='`+id+`'"}`, http.StatusInternalServerError)
	}))
	client := must(New(Options{URL: server.URL, GRPC: "127.0.0.1:1", Source: "towline", Plaintext: true}))(t)
	defer client.Close()
	_, answered := client.Get(t.Context(), id)
	server.Close()
	_, unreachable := client.Get(t.Context(), id)
	for _, err := range []error{answered, unreachable} {
		if err == nil || strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), "/resource-bundles/…") {
			t.Errorf("%v", err)
		}
	}
}
