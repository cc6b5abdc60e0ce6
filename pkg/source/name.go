package source

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

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

// KeptTimeout is how long an agent with a kept answer about references waits for the hub. The repo server of Argo CD (2.14 and
// 3.5) waits 15 s. towline-source must answer a failure of the Git server before.
const KeptTimeout = 10 * time.Second

const (
	// hashLength is the number of characters from each hash in a name: 80 bits. A tenant cannot find an address with the
	// name of a second repository.
	hashLength = 20

	// maxSlug is the maximum length of the readable part of a name. A name has at most 82 characters.
	maxSlug = 40
)

// Name returns the name of a repository for the Applications of an AppProject: the readable end of the address, a hash of
// the whole address, and behind a dot a hash of the AppProject. AppProjects may have different credentials for the same
// address, so each AppProject has a name of its own. A name is a valid name of a Kubernetes object. Addresses with
// different spellings have different names, because a Git server may distinguish the spellings.
func Name(project, address string) string { return stem(address) + dot + hashOf(project) }

// dot separates the AppProject in a name. The part before the dot is Former.
const dot = "."

// stem returns the part of a name for the address, without the AppProject.
func stem(address string) string {
	if slug := slug(address); slug != "" {
		return slug + "-" + hashOf(address)
	}
	return hashOf(address)
}

// Former returns the name of a repository before names had an AppProject. Clusters read by such a name until their
// Applications have the new name.
func Former(name string) string {
	former, _, _ := strings.Cut(name, dot)
	return former
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
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

// APIService is the name of the object that connects towline-source with the hub's API server.
var APIService = GroupVersion.Version + "." + GroupVersion.Group

// Path returns the path on the hub's API server for Git's requests about a repository.
func Path(cluster, name string) string {
	return path.Join("/apis", GroupVersion.Group, GroupVersion.Version, "namespaces", cluster, Resource, name, Proxy)
}

// WriteNames returns the names of the repositories of an Application as the value of apis.AnnotationSources. After a
// change of the AppProject on the hub, the names are for no repository, until Towline may deliver the Application again.
// further are names of further repositories.
func WriteNames(project string, addresses []string, further ...string) string {
	names := slices.Clone(further)
	for _, address := range addresses {
		names = append(names, Name(project, address))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// ReadNames returns the names in a value of apis.AnnotationSources.
func ReadNames(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}
