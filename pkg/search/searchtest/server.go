package searchtest

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/towline-io/towline/pkg/search"
)

// Token is the valid token of a new server.
const Token = "secret-token.of-the-tests"

// Path is the path of the service.
const Path = "/searchapi/graphql"

// Server is a search service.
type Server struct {
	// CAFile and TokenFile are the files for a client. TrustCA rewrites CAFile, and RotateToken rewrites TokenFile.
	CAFile, TokenFile string

	t    testing.TB
	http *httptest.Server

	mu          sync.Mutex
	token       string
	certificate *tls.Certificate
	index       []Item
	asked       [][]string
	interfere   Interference
}

// Interference answers a request for some clusters in place of the server, or returns false.
type Interference func(w http.ResponseWriter, r *http.Request, clusters []string) bool

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{t: t, CAFile: filepath.Join(dir, "ca.crt"), TokenFile: filepath.Join(dir, "token")}
	s.RotateToken(Token)
	s.TrustCA(s.RotateCA())
	s.http = httptest.NewUnstartedServer(s)
	s.http.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: s.current}
	s.http.Config.ErrorLog = discard
	s.http.StartTLS()
	t.Cleanup(s.http.Close)
	return s
}

// URL returns the server's address.
func (s *Server) URL() string { return s.http.URL + Path }

// Config returns a client's configuration for the server.
func (s *Server) Config() search.Config {
	return search.Config{URL: search.Fixed(s.URL()), TokenFile: s.TokenFile, CAFile: s.CAFile}
}

// RotateToken replaces the valid token, and writes the new token to TokenFile.
func (s *Server) RotateToken(token string) {
	s.mu.Lock()
	s.token = token
	s.mu.Unlock()
	s.write(s.TokenFile, []byte(token+"\n"))
}

// RotateCA gives the server a certificate of a new authority, and returns the authority for TrustCA.
func (s *Server) RotateCA() (ca []byte) {
	s.t.Helper()
	certificate, ca := Issue(s.t)
	s.mu.Lock()
	s.certificate = certificate
	s.mu.Unlock()
	if s.http != nil {
		s.http.CloseClientConnections()
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca})
}

// TrustCA writes an authority to CAFile.
func (s *Server) TrustCA(ca []byte) { s.write(s.CAFile, ca) }

func (s *Server) write(file string, data []byte) {
	s.t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// current returns the configuration with the current certificate. A different field of the configuration would give
// precedence to httptest's own certificate.
func (s *Server) current(*tls.ClientHelloInfo) (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*s.certificate}}, nil
}

// Put adds items to the index.
func (s *Server) Put(items ...Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = append(s.index, items...)
}

// Clear empties the index.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = nil
}

// Interfere lets the test answer requests; nil restores the server's answers.
func (s *Server) Interfere(i Interference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interfere = i
}

// Queried returns the clusters of each request since the last call.
func (s *Server) Queried() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}
