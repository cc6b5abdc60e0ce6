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

// Token is the token that a new server takes.
const Token = "secret-token.of-the-tests"

// Path is where the service answers.
const Path = "/searchapi/graphql"

// Server is a search service.
type Server struct {
	// CAFile and TokenFile are what a client needs. They are written again by RotateCA and RotateToken.
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

// Interference answers a request for some clusters in the server's place, or returns false.
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

// URL is the server's address.
func (s *Server) URL() string { return s.http.URL + Path }

// Config is how a client finds the server.
func (s *Server) Config() search.Config {
	return search.Config{URL: search.Fixed(s.URL()), TokenFile: s.TokenFile, CAFile: s.CAFile}
}

// RotateToken makes the server take another token, and no other, and writes it to TokenFile.
func (s *Server) RotateToken(token string) {
	s.mu.Lock()
	s.token = token
	s.mu.Unlock()
	s.write(s.TokenFile, []byte(token+"\n"))
}

// RotateCA gives the server a certificate of another authority, which TrustCA makes known.
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

// current is the configuration with the certificate of now. httptest would put its own before it elsewhere.
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

// Interfere lets the test answer; nil lets the server answer again.
func (s *Server) Interfere(i Interference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interfere = i
}

// Asked are the clusters of each request since the last call.
func (s *Server) Asked() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}
