package managedresources

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"time"

	"github.com/towline-io/towline/pkg/source"
)

// Resource is the resource of managed resources in the API group of towline-source. The name of an object is the name of
// the Application's ManifestWork.
const Resource = "managedresources"

// Lifetime is the lifetime of an entry in the hub's Redis, equal to Argo CD's own lifetime (--app-state-cache-expiration).
const Lifetime = time.Hour

// Digest is the parameter of a request that renews an entry on the hub: the SHA-256 of the body that the hub has.
const Digest = "digest"

// DigestOf returns the value of the parameter Digest for a body.
func DigestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Path returns the path on the hub's API server for the managed resources of the Application of a ManifestWork.
func Path(cluster, work string) string {
	return path.Join("/apis", source.GroupVersion.Group, source.GroupVersion.Version, "namespaces", cluster, Resource, work)
}

// Absent is the hub's answer for an Application that Towline does not deliver to the cluster. A hub without the API has
// another answer.
const Absent = "this cluster has no Application of this name"
