package bundle

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strconv"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"
)

// KeySize is the size of a new key of IDs, in bytes, and the least size of any key.
const KeySize = 32

// names is the namespace of the public names of bundles.
var names = uuid.MustParse("5f2c1c0e-64c0-4a53-9f1c-6f1f3f0f5a61")

// IDs computes the ids in Maestro for the new bundles of a source.
//
// An id is a secret. Maestro (version in e2e/programs/maestro/go.mod) accepts a status of any sender with the id of the
// bundle, and with the bundle's cluster in an extension. The sender writes the extension. So every agent with the id
// can report on the bundle, and can make Maestro drop the row.
//
// The id follows from the name and the shape of the work, and from a key of towline-maestro. Two creations with the
// same name and shape have the same id, so Maestro refuses the second. No agent can compute the id.
//
// An existing bundle in Maestro keeps the id, even after a change of the key.
type IDs struct {
	source string
	key    []byte
}

// NewIDs returns the IDs of a source with a key.
func NewIDs(source string, key []byte) IDs { return IDs{source, key} }

// NewKey returns a new random key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // By the documentation, rand.Read never fails.
	return key
}

// Of returns the id for the bundle of a work with a shape: a UUID of version 8.
func (i IDs) Of(work types.NamespacedName, shape int) string {
	mac := hmac.New(sha256.New, i.key)
	mac.Write([]byte(path(i.source, work, shape)))
	id := uuid.UUID(mac.Sum(nil)[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id.String()
}

// PublicName returns the name of a work's later bundle on the cluster. Every reader can compute the name from the name
// of the work. Earlier versions of Towline used the same text as the id.
func PublicName(source string, work types.NamespacedName, shape int) string {
	return uuid.NewSHA1(names, []byte(path(source, work, shape))).String()
}

// path returns an unambiguous name of a bundle, because the names of sources, namespaces and works have no slash.
func path(source string, work types.NamespacedName, shape int) string {
	out := source + "/" + work.String()
	if shape > 0 {
		out += "/" + strconv.Itoa(shape)
	}
	return out
}

// IsPublic tells whether every reader can compute the bundle's id: an earlier version of Towline has made the id.
func (b *Bundle) IsPublic(source string) bool { return b.ID == PublicName(source, b.Name(), b.Shape) }

// Moved returns the bundle under a new id: the next shape of the work, with the same content.
func (b *Bundle) Moved(ids IDs) *Bundle {
	out := b.Reapplied()
	out.toShape(b.Shape+1, ids)
	return out
}

// toShape changes b to the bundle with the given shape and a new id. The agent has not reported on the new bundle yet.
func (b *Bundle) toShape(shape int, ids IDs) {
	b.Shape, b.Sequence = shape, ""
	b.ID = ids.Of(b.Name(), shape)
}

// Restored returns the bundle for a new row in place of a row lost by Maestro. The agent has not reported on the new
// row yet.
func (b *Bundle) Restored() *Bundle {
	out := b.Reapplied()
	out.Sequence = ""
	return out
}
