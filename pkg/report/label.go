package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// hashLength is the length of the hash in a shortened label value: 80 bits. Even a million values collide by chance on
// only one of 10^12 hubs.
const hashLength = 20

// LabelValue returns the value of the label hosting-applicationset: "<namespace>.<name>" if the text fits, as in
// earlier versions. A longer text is cut and ends in "_" and a hash of the pair. No name contains "_". Therefore a
// shortened value never equals the whole value of a different set.
func LabelValue(set types.NamespacedName) string {
	whole := set.Namespace + "." + set.Name
	if len(whole) <= validation.LabelValueMaxLength {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	head := strings.TrimRight(whole[:validation.LabelValueMaxLength-1-hashLength], ".-")
	return head + "_" + hex.EncodeToString(sum[:])[:hashLength]
}
