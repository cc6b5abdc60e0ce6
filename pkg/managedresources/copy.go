package managedresources

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// The limits of an entry: the compressed bytes, the bytes, and the number of resources.
const (
	MaxCompressed = 2 << 20
	MaxBytes      = 16 << 20
	MaxResources  = 5000
)

// maxName is the maximum length of a name in Kubernetes, and of the other texts that identify a resource.
const maxName = 253

// ErrTooLarge means that an entry is over a limit.
var ErrTooLarge = errors.New("the managed resources are over a limit of Towline")

// resource is a managed resource in Argo CD's format, without the deprecated field diff.
type resource struct {
	Group               string `json:"group,omitempty"`
	Kind                string `json:"kind,omitempty"`
	Namespace           string `json:"namespace,omitempty"`
	Name                string `json:"name,omitempty"`
	TargetState         string `json:"targetState,omitempty"`
	LiveState           string `json:"liveState,omitempty"`
	Hook                bool   `json:"hook,omitempty"`
	NormalizedLiveState string `json:"normalizedLiveState,omitempty"`
	PredictedLiveState  string `json:"predictedLiveState,omitempty"`
	ResourceVersion     string `json:"resourceVersion,omitempty"`
	Modified            bool   `json:"modified,omitempty"`
}

// states returns the manifests of a resource.
func (r *resource) states() []*string {
	return []*string{&r.TargetState, &r.LiveState, &r.NormalizedLiveState, &r.PredictedLiveState}
}

// Copy copies an entry, with masked Secrets. With compressed, the entry is gzip data, and otherwise JSON. The copy is
// gzip data if compress is set. Copy fails for an entry that Argo CD cannot have written, and with ErrTooLarge for an
// entry over a limit.
func Copy(entry io.Reader, compressed, compress bool) ([]byte, error) {
	in := &limited{Reader: entry, left: MaxBytes}
	if compressed {
		plain, err := gzip.NewReader(&limited{Reader: entry, left: MaxCompressed})
		if err != nil {
			return nil, err
		}
		in.Reader = plain
	}
	out := &bytes.Buffer{}
	if !compress {
		err := copyJSON(out, in)
		return out.Bytes(), err
	}
	packed := gzip.NewWriter(out)
	if err := errors.Join(copyJSON(packed, in), packed.Close()); err != nil {
		return nil, err
	}
	if out.Len() > MaxCompressed {
		return nil, ErrTooLarge
	}
	return out.Bytes(), nil
}

// limited fails with ErrTooLarge after a number of bytes. A decoder would take the end of an io.LimitedReader for the
// end of the entry. A Read fills the buffer, because the decoder looks at spaces again after each Read.
type limited struct {
	io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, ErrTooLarge
	}
	n, err := io.ReadFull(l.Reader, p[:min(len(p), l.left+1)])
	if l.left -= n; l.left < 0 {
		return 0, ErrTooLarge
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF // also of a cut compression: the list then has no end
	}
	return n, err
}

// copyJSON copies the resources, with a single resource in memory at a time.
func copyJSON(out io.Writer, in io.Reader) error {
	decoder := json.NewDecoder(in)
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		return errors.Join(errors.New("the managed resources are not a list"), err)
	}
	separator, size := "[", 0
	for n := 0; decoder.More(); n++ {
		if n == MaxResources {
			return ErrTooLarge
		}
		var r resource
		if err := decoder.Decode(&r); err != nil {
			return err
		}
		if err := r.check(); err != nil {
			return err
		}
		data, err := json.Marshal(&r)
		if err != nil {
			return err
		}
		if size += len(data); size > MaxBytes { // a mask may be longer than a value
			return ErrTooLarge
		}
		if _, err := out.Write(append([]byte(separator), data...)); err != nil {
			return err
		}
		separator = ","
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	_, err := io.WriteString(out, strings.TrimPrefix(separator, ",")+"]")
	return err
}

// identity is the part of a manifest that identifies the object.
type identity struct{ apiVersion, kind, namespace, name string }

// identify reads the identity of a manifest. The names of fields are case-sensitive, as in Kubernetes.
func identify(manifest string) (id identity, err error) {
	var fields, metadata map[string]json.RawMessage
	if err := json.Unmarshal([]byte(manifest), &fields); err != nil {
		return id, err
	}
	read := func(from map[string]json.RawMessage, name string, into any) {
		if value, ok := from[name]; ok && err == nil {
			err = json.Unmarshal(value, into)
		}
	}
	read(fields, "apiVersion", &id.apiVersion)
	read(fields, "kind", &id.kind)
	read(fields, "metadata", &metadata)
	read(metadata, "namespace", &id.namespace)
	read(metadata, "name", &id.name)
	return id, err
}

// isSecret reports whether a manifest is a Secret of Kubernetes.
func (i *identity) isSecret() bool {
	return i.kind == secretKind && !strings.Contains(i.apiVersion, "/")
}

const secretKind = "Secret"

// check returns an error for a resource that Argo CD cannot have written, and masks a Secret. The manifests decide about
// the mask too, because the cluster also chooses the kind beside the manifests. argocd prints the names in a terminal,
// so control characters are an error.
func (r *resource) check() error {
	texts := []string{r.Group, r.Kind, r.Namespace, r.Name, r.ResourceVersion}
	secret := r.Kind == secretKind && r.Group == ""
	for _, state := range r.states() {
		if absent(*state) {
			continue
		}
		id, err := identify(*state)
		if err != nil {
			return fmt.Errorf("a manifest is not an object of Kubernetes: %w", err)
		}
		secret = secret || id.isSecret()
		texts = append(texts, id.apiVersion, id.kind, id.namespace, id.name)
	}
	for _, text := range texts {
		if len(text) > maxName || strings.ContainsFunc(text, unicode.IsControl) {
			return errors.New("a name of a resource is too long, or has a control character")
		}
	}
	if secret {
		return r.mask()
	}
	return nil
}

// absent reports whether a state means that the object does not exist.
func absent(state string) bool { return state == "" || state == "null" }
