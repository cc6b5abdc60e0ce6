package work

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

const (
	// MaxNameLength is the maximum length of a ManifestWork's name. The work agent (v1.2.0) names its
	// AppliedManifestWork "<64 hex characters>-<work name>", and a name has at most 253 characters.
	MaxNameLength = 253 - hubHash - 1

	// uidLength is the number of characters from the Application's UID in the name, as in older controllers.
	uidLength = 5

	// hashLength is the number of characters from the hash in a shortened name: 80 bits. On a hub with a million long
	// names, the probability of a collision is about 10^-12.
	hashLength = 20
)

// Name returns the name of an Application's ManifestWork: "<name>-<first 5 characters of the UID>". The names match
// the works of older controllers, and an Application created again under its old name gets a new work. A name too
// long for the work agent is shortened, and ends in a hash of the whole name and UID.
func Name(app *argocd.Application) string {
	uid := string(app.UID)
	name := app.Name + "-" + uid[:min(uidLength, len(uid))]
	if len(name) <= MaxNameLength {
		return name
	}
	sum := sha256.Sum256([]byte(app.Name + "/" + uid))
	// No part of a name between dots may begin or end with a dash.
	head := strings.TrimRight(app.Name[:MaxNameLength-1-hashLength], ".-")
	return head + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// NamedAfter reports whether a work has a name from Name, for an Application of the given name with any UID.
func NamedAfter(workName, appName string) bool {
	name := Name(&argocd.Application{ObjectMeta: metav1.ObjectMeta{Name: appName, UID: "00000"}})
	suffix := strings.LastIndex(name, "-") + 1
	return len(workName) == len(name) && workName[:suffix] == name[:suffix] && !strings.ContainsAny(workName[suffix:], "-.")
}

// Key returns the namespace and name, on the hub, of the Application's ManifestWork: the namespace of the target
// cluster and the computed name. Without a target cluster, Key returns the zero key.
func Key(app *argocd.Application) types.NamespacedName {
	cluster := app.Cluster()
	if cluster == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cluster, Name: Name(app)}
}
