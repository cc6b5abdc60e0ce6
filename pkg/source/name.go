package source

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/towline-io/towline/pkg/apis"
)

// GroupVersion is the API group and version of towline-source.
var GroupVersion = schema.GroupVersion{Group: "source." + apis.Group, Version: "v1alpha1"}

// Resource is the resource of repositories in GroupVersion. The subresource Proxy passes Git's requests on.
const (
	Resource = "repositories"
	Proxy    = "proxy"
)

const (
	// hashLength is the number of characters from the hash in a name: 80 bits. A tenant cannot find an address with the
	// name of a second repository.
	hashLength = 20

	// maxSlug is the maximum length of the readable part of a name. A name has at most 63 characters.
	maxSlug = 40
)

// Name returns the name of a repository: the readable end of the address, and a hash of the whole address. A name is a
// valid name of a Kubernetes object with at most 63 characters. Addresses with different spellings have different names,
// because a Git server may distinguish the spellings.
func Name(address string) string {
	sum := sha256.Sum256([]byte(address))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	if slug := slug(address); slug != "" {
		return slug + "-" + hash
	}
	return hash
}

// slug returns the last part of an address in the characters of a name. The part behind the last "@" only, because a
// user name or password may stand before.
func slug(address string) string {
	address = address[strings.LastIndex(address, "@")+1:]
	address, _, _ = strings.Cut(address, "?")
	last := strings.TrimSuffix(path.Base(strings.ReplaceAll(address, ":", "/")), ".git")
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, last)
	return strings.Trim(out[:min(len(out), maxSlug)], "-")
}

// Path returns the path on the hub's API server for Git's requests about a repository.
func Path(cluster, name string) string {
	return path.Join("/apis", GroupVersion.Group, GroupVersion.Version, "namespaces", cluster, Resource, name, Proxy)
}

// WriteNames returns the names of the repositories of an Application as the value of apis.AnnotationSources. Each name
// has a hash of the Application's AppProject: after a change of the AppProject on the hub, the names are for no
// repository, until Towline may deliver the Application again.
func WriteNames(project string, addresses []string) string {
	names := make([]string, 0, len(addresses))
	for _, address := range addresses {
		names = append(names, entry(project, address))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// entry returns the name of a repository with the hash of an AppProject.
func entry(project, address string) string {
	sum := sha256.Sum256([]byte(project))
	return Name(address) + "." + hex.EncodeToString(sum[:])[:hashLength]
}

// Delivered reports whether a value of apis.AnnotationSources has the repository for the AppProject.
func Delivered(value, project, address string) bool {
	return slices.Contains(strings.Split(value, ","), entry(project, address))
}

// ReadNames returns the names in a value of apis.AnnotationSources, without the AppProject.
func ReadNames(value string) []string {
	names := strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], ".")
	}
	return names
}
