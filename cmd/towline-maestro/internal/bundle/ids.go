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

// IDs makes the ids that the new bundles of one source have in Maestro.
//
// An id is a secret. Maestro (of e2e/programs/maestro/go.mod) believes a status of any sender if the status names the id, and the bundle's
// cluster in an extension. The sender writes the extension. So every agent that knows the id can report on the bundle, and can make Maestro
// drop the row. The id follows from the name of the work and from a key of towline-maestro: a name cannot be taken twice, and no agent can
// compute the id.
//
// A bundle that Maestro has keeps its id, also under a new key.
type IDs struct {
	source string
	key    []byte
}

// NewIDs returns the ids of a source by a key.
func NewIDs(source string, key []byte) IDs { return IDs{source, key} }

// NewKey returns a new random key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails, by its documentation
	return key
}

// Of is the id of a work's bundle of that shape: a UUID of version 8.
func (i IDs) Of(work types.NamespacedName, shape int) string {
	mac := hmac.New(sha256.New, i.key)
	mac.Write([]byte(path(i.source, work, shape)))
	id := uuid.UUID(mac.Sum(nil)[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return id.String()
}

// PublicName is the name of a work's later bundle on the cluster. Every reader can compute the name from the name of the work.
// Earlier versions of Towline used the same text as the id.
func PublicName(source string, work types.NamespacedName, shape int) string {
	return uuid.NewSHA1(names, []byte(path(source, work, shape))).String()
}

// path names a bundle without ambiguity: the names of sources, namespaces and works have no slash.
func path(source string, work types.NamespacedName, shape int) string {
	out := source + "/" + work.String()
	if shape > 0 {
		out += "/" + strconv.Itoa(shape)
	}
	return out
}

// IsPublic tells whether every reader can compute the bundle's id: an earlier version of Towline has made the id.
func (b *Bundle) IsPublic(source string) bool { return b.ID == PublicName(source, b.Name(), b.Shape) }

// Moved is the bundle under a new id: the next shape of the work, with the same content.
func (b *Bundle) Moved(ids IDs) *Bundle {
	out := b.Again()
	out.toShape(b.Shape+1, ids)
	return out
}

// toShape turns b into a bundle of that shape, of which the agent has not heard.
func (b *Bundle) toShape(shape int, ids IDs) {
	b.Shape, b.Sequence = shape, ""
	b.ID = ids.Of(b.Name(), shape)
}

// Restored is the bundle for a new row in place of the row that Maestro has lost. The agent has not spoken of the new row.
func (b *Bundle) Restored() *Bundle {
	out := b.Again()
	out.Sequence = ""
	return out
}
