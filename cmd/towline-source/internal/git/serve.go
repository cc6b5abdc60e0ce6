package git

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// The requests of Git's smart HTTP protocol that only read.
const (
	RefsPath = "info/refs"
	PackPath = "git-upload-pack"
)

const service = "git-upload-pack"

// protocols are the permitted values of the header Git-Protocol.
var protocols = regexp.MustCompile(`^[A-Za-z0-9=:._-]{1,64}$`)

// maxRequest is the maximum size of a request's body. The body lists commits, 50 bytes each.
const maxRequest = 64 << 20

// ErrRequest means that the body of a request is not usable.
var ErrRequest = errors.New("the body of the request is not usable")

// settings returns the variables with the settings of git for an answer. A client sees branches, tags and Shown: the
// mirror has further references of other clusters. A pack has no new deltas, and comes from a single thread, with the deltas
// of the fetched packs. A commit makes all clusters ask at the same time, and the search for deltas costs more than the bytes.
func (m Mirror) settings() []string {
	pairs := []string{"pack.window=0", "pack.threads=1", "uploadpack.hideRefs=refs"}
	for _, ref := range append([]string{"refs/heads", "refs/tags"}, m.Shown...) {
		pairs = append(pairs, "uploadpack.hideRefs=!"+ref)
	}
	env := []string{fmt.Sprint("GIT_CONFIG_COUNT=", len(pairs))}
	for i, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return env
}

// misuses are parts of the error output of upload-pack about a body that is not Git's protocol.
var misuses = []string{"protocol error", "unknown capability", "invalid command", "unexpected line", "hung up"}

// Refused returns the status code and the message for a request that is no read of Git's smart HTTP protocol; 0 for a
// permitted request. path is the path behind the repository.
func Refused(r *http.Request, path string) (code int, message string) {
	asked := r.URL.Query().Get("service")
	switch {
	case path == "git-receive-pack" || path == RefsPath && asked == "git-receive-pack":
		return http.StatusForbidden, "towline-source serves repositories read-only: push to the Git server"
	case path == RefsPath && r.Method == http.MethodGet && asked == service, path == PackPath && r.Method == http.MethodPost:
		return 0, ""
	case path == RefsPath && asked == "":
		return http.StatusForbidden, "towline-source serves Git's smart HTTP protocol only: use git 1.6.6 or later"
	}
	return http.StatusNotFound, "towline-source has no such path: " + RefsPath + " and " + PackPath + " exist"
}

// Serve answers a permitted request from the mirror. Nothing is held whole: the answer streams. w sends each written part
// at once, so that a proxy passes the progress of a long answer on.
func (m Mirror) Serve(w http.ResponseWriter, r *http.Request, path string) error {
	env := m.settings()
	if p := r.Header.Get("Git-Protocol"); protocols.MatchString(p) {
		env = append(env, "GIT_PROTOCOL="+p)
	}
	w.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	if path == RefsPath {
		w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
		if !strings.Contains(r.Header.Get("Git-Protocol"), "version=2") { // in version 2, the capabilities name the service
			if _, err := io.WriteString(w, packet("# service="+service+"\n")+"0000"); err != nil {
				return err
			}
		}
		return pipe(r.Context(), m.Dir, env, nil, w, "upload-pack", "--stateless-rpc", "--strict", "--advertise-refs", ".")
	}
	body, err := plainBody(w, r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-"+service+"-result")
	err = pipe(r.Context(), m.Dir, env, body, w, "upload-pack", "--stateless-rpc", "--strict", ".")
	if errors.Is(err, context.Canceled) {
		return nil // the client has left
	}
	failed, ok := errors.AsType[*Error](err)
	if ok && strings.Contains(failed.Text, "not our ref") {
		return nil // git has told the client
	}
	if ok && slices.ContainsFunc(misuses, func(part string) bool { return strings.Contains(failed.Text, part) }) {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return err
}

// plainBody returns the body of a request, uncompressed and bounded.
func plainBody(w http.ResponseWriter, r *http.Request) (io.Reader, error) {
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxRequest))
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		plain, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRequest, err)
		}
		return io.LimitReader(plain, maxRequest), nil
	default:
		return nil, fmt.Errorf("%w: unknown Content-Encoding %.20q", ErrRequest, encoding)
	}
}

// packet returns a text as a packet of Git's protocol: four hex digits with the length, and the text.
func packet(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
