package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// hashLength is how much of the hash goes into a label value that had to be shortened: 80 bits, so that even a million
// of them meet by chance once in 10^12 hubs.
const hashLength = 20

// LabelValue is the value of the label hosting-applicationset: "<namespace>.<name>" where that fits, as it has always
// been. A longer one is cut and ends in "_" and a hash of the pair. No name has a "_" in it, so a shortened value is
// never another set's whole one.
func LabelValue(set types.NamespacedName) string {
	whole := set.Namespace + "." + set.Name
	if len(whole) <= validation.LabelValueMaxLength {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	head := strings.TrimRight(whole[:validation.LabelValueMaxLength-1-hashLength], ".-")
	return head + "_" + hex.EncodeToString(sum[:])[:hashLength]
}
