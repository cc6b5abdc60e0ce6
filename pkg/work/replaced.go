package work

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/payload"
	"github.com/towline-io/towline/pkg/tree"
)

// MaxReplaced is the maximum size of AnnotationReplaced in bytes. A bundle of Maestro has all annotations of a work in one
// property of a message, and MQTT permits 64 KiB for a property.
const MaxReplaced = 40 * 1024

// KeepReplaced stores in out, a work with a request, the Application that the request replaces in the work before. A
// freeze needs the Application later, when the hub's Application may be different. KeepReplaced stores no Application that
// is too large.
func KeepReplaced(out, before *workv1.ManifestWork) {
	if kept, _ := PackReplaced(before); kept != "" {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, apis.AnnotationReplaced, kept)
	}
}

// PackReplaced returns the Application in a work, as KeepReplaced stores the Application; empty for none. The bool is false if the Application
// is too large.
func PackReplaced(before *workv1.ManifestWork) (kept string, fits bool) {
	if CarriesRequest(before) {
		kept, fits = before.Annotations[apis.AnnotationReplaced]
		return kept, fits
	}
	for _, m := range before.Spec.Workload.Manifests {
		if payload.Read(m.Raw) == nil {
			continue
		}
		if kept = packed(m.Raw); len(kept) > MaxReplaced {
			return "", false
		}
	}
	return kept, true
}

// Replaced returns the Application that the request in a work has replaced, with metadata and spec, and the manifest of
// the Application. Both are nil if the work stores no readable Application of the same name. The cluster can write the
// annotation.
func Replaced(w *workv1.ManifestWork) (*argocd.Application, []byte) {
	if !CarriesRequest(w) || len(w.Spec.ManifestConfigs) != 1 {
		return nil, nil
	}
	raw, id := unpacked(w.Annotations[apis.AnnotationReplaced]), w.Spec.ManifestConfigs[0].ResourceIdentifier
	held := payload.Read(raw)
	if held == nil || len(held.Spec.Raw) == 0 || held.Name != id.Name || held.Namespace != id.Namespace {
		return nil, nil
	}
	return held, raw
}

// packed returns gzip data in base64.
func packed(raw []byte) string {
	return base64.StdEncoding.EncodeToString(tree.Compress(raw))
}

// unpacked is the reverse of packed. The result is nil for unreadable data, and for more than MaxPayload bytes: the
// cluster can write the annotations of its works.
func unpacked(text string) []byte {
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(zip, MaxPayload+1))
	if err != nil || len(raw) > MaxPayload {
		return nil
	}
	return raw
}
