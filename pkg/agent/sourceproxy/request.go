package sourceproxy

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The paths of Git's smart HTTP protocol for reading, below the path of a repository.
const (
	advertisement = "info/refs"
	uploadPack    = "git-upload-pack"
	receivePack   = "git-receive-pack"
)

// uploadPackQuery is the only accepted query of an advertisement. A request without the query belongs to the dumb
// protocol, which reads the files of a repository.
const uploadPackQuery = "service=" + uploadPack

// maxCommand is the maximum size of a request about references. Larger requests are streamed, and their answers are not
// kept.
const maxCommand = 16 << 10

// refusal is the answer to a request that the hub does not get.
type refusal struct {
	code int
	text string
}

// parse returns the repository of a request and the path below the repository, or a refusal.
func parse(r *http.Request) (repository, rest string, refused *refusal) {
	repository, rest, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.URL.RawPath != "" || len(validation.IsDNS1123Subdomain(repository)) > 0 {
		return "", "", &refusal{http.StatusNotFound, "No repository has this address."}
	}
	switch {
	case rest == receivePack || rest == advertisement && r.URL.Query().Get("service") == receivePack:
		return "", "", &refusal{http.StatusForbidden, "The repositories are read-only."}
	case rest == advertisement && r.URL.RawQuery != uploadPackQuery:
		return "", "", &refusal{http.StatusForbidden, "The repositories support only the smart HTTP protocol of Git."}
	case rest == advertisement && r.Method != http.MethodGet, rest == uploadPack && r.Method != http.MethodPost:
		return "", "", &refusal{http.StatusMethodNotAllowed, "The address does not support the method."}
	case rest != advertisement && (rest != uploadPack || r.URL.RawQuery != ""):
		return "", "", &refusal{http.StatusNotFound, "The repositories support only the smart HTTP protocol of Git."}
	}
	return repository, rest, nil
}

// questionOf returns the question of a request about references, or nil for all other requests. In version 2 of Git's
// protocol, a command in the body asks for the references. questionOf reads a short body, so that a request can be
// repeated on a new connection to the hub.
func questionOf(r *http.Request, repository, rest string) (*question, error) {
	q := &question{repository: repository, protocol: r.Header.Get("Git-Protocol")}
	if rest == advertisement {
		return q, nil
	}
	if r.Header.Get("Content-Encoding") != "" || r.ContentLength <= 0 || r.ContentLength > maxCommand {
		return nil, nil //nolint:nilnil // documented
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	if len(body) < 4 || !bytes.HasPrefix(body[4:], []byte("command=ls-refs")) {
		return nil, nil //nolint:nilnil // documented
	}
	q.body = sha256.Sum256(body)
	return q, nil
}
