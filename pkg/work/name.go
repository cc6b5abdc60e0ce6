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
	// MaxNameLength is how long a ManifestWork's name may be. The work agent (v1.2.0) names its
	// AppliedManifestWork "<64 hex characters>-<work name>", and a name has 253 characters at most.
	MaxNameLength = 253 - hubHash - 1

	// uidLength is how much of the Application's UID goes into the name, as older controllers have it.
	uidLength = 5

	// hashLength is how much of the hash goes into a name that had to be shortened: 80 bits, so that even
	// a million long names meet by chance once in 10^12 hubs.
	hashLength = 20
)

// Name is the name of an Application's ManifestWork: "<name>-<first 5 characters of the UID>", so that the works
// of older controllers are found and an Application that is made again under its old name gets a new work. A
// name too long for the work agent is cut and ends in a hash of the whole name and UID instead.
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

// NamedAfter tells whether a work's name is one that Name gives to an Application of that name, whatever its UID.
func NamedAfter(workName, appName string) bool {
	name := Name(&argocd.Application{ObjectMeta: metav1.ObjectMeta{Name: appName, UID: "00000"}})
	suffix := strings.LastIndex(name, "-") + 1
	return len(workName) == len(name) && workName[:suffix] == name[:suffix] && !strings.ContainsAny(workName[suffix:], "-.")
}

// Key is the namespace and name of the ManifestWork that an Application must have, as the hub has it: its
// target cluster's namespace and its computed name. It is the zero key when the Application names no cluster.
func Key(app *argocd.Application) types.NamespacedName {
	cluster := app.Cluster()
	if cluster == "" {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cluster, Name: Name(app)}
}
