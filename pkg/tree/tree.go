package tree

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/apps/v1alpha1"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// version is the version of the objects in Argo CD's cache (common.CacheVersion): part of every key.
const version = "1.8.3"

// Key returns the key of an Application's tree in Argo CD's cache. home is the namespace of Argo CD itself: the key of
// an Application in home has only its name. Compressed entries have separate keys.
func Key(app types.NamespacedName, home string, compressed bool) string {
	return shardKey(app, home, compressed, "")
}

// ShardKey returns the key of a further part of an Application's tree, from 1 on.
func ShardKey(app types.NamespacedName, home string, compressed bool, shard int) string {
	return shardKey(app, home, compressed, "|"+strconv.Itoa(shard))
}

func shardKey(app types.NamespacedName, home string, compressed bool, shard string) string {
	key := "app|resources-tree|" + instance(app, home) + shard + "|" + version
	if compressed {
		key += compressedEnds
	}
	return key
}

// Channel returns the Redis channel that tells argocd-server about a change of the Application's tree.
func Channel(app types.NamespacedName, home string) string {
	return channelBegins + instance(app, home) + channelEnds
}

// ManagedResourcesKey returns the key of an Application's managed resources in Argo CD's cache. Argo CD announces a
// change of the tree in a channel with the name of this key.
func ManagedResourcesKey(app types.NamespacedName, home string, compressed bool) string {
	key := Channel(app, home)
	if compressed {
		key += compressedEnds
	}
	return key
}

// Channels is the Redis pattern for the channels of all Applications of an Argo CD.
const Channels = channelBegins + "*" + channelEnds

const (
	channelBegins, channelEnds = "app|managed-resources|", "|" + version

	// compressedEnds is the end of the keys of compressed entries.
	compressedEnds = ".gz"
)

// OfChannel returns the Application of a channel.
func OfChannel(channel, home string) types.NamespacedName {
	name := strings.TrimSuffix(strings.TrimPrefix(channel, channelBegins), channelEnds)
	if namespace, name, elsewhere := strings.Cut(name, "_"); elsewhere {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: home, Name: name}
}

func instance(app types.NamespacedName, home string) string {
	if app.Namespace == home {
		return app.Name
	}
	return app.Namespace + "_" + app.Name
}

// tree is the known part of Argo CD's ApplicationTree.
type tree struct {
	Nodes []node `json:"nodes,omitempty"`

	// ShardsCount is the number of entries of the tree, in the first entry. Towline writes one entry.
	ShardsCount int `json:"shardsCount,omitempty"`
}

type node struct {
	Group      string         `json:"group,omitempty"`
	Version    string         `json:"version,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Namespace  string         `json:"namespace,omitempty"`
	Name       string         `json:"name,omitempty"`
	UID        string         `json:"uid,omitempty"`
	ParentRefs []parent       `json:"parentRefs,omitempty"`
	Health     *argocd.Health `json:"health,omitempty"`
	CreatedAt  string         `json:"createdAt,omitempty"`
}

// parent is the owner of a resource. argocd-server uses its name, the UI its UID.
type parent struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid"`
}

const (
	// nobody is the parent of the first node of each resource. No node has this UID. Therefore no client lists the
	// children of nobody.
	nobody = "none"

	// elsewhere ends the version of nodes with a UID. No API has such a version, because a version cannot have a dot.
	elsewhere = ".on-its-cluster"
)

// Encode returns the tree of an Application with the given resources, as JSON. The order of the resources does not
// matter. Hooks are excluded, because a hook runs once and ends. live is the result of Path.Live: without live,
// argocd-server refuses all requests about a resource. reported are the cluster's reports of live resources, from
// appreport.Tree. Encode ignores reported without live.
func Encode(resources []argocd.ResourceStatus, live bool, reported ...v1alpha1.TreeNode) []byte {
	var known reports
	if live {
		known = reportsOf(reported)
	}
	var guards, shown, pods []node
	for i := range resources {
		r := &resources[i]
		n := node{Group: r.Group, Version: r.Version, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Health: r.Health}
		switch {
		case r.Hook:
		case live:
			shown = append(shown, known.complete(n.found()))
		case n.pod():
			pods = append(pods, n)
		default:
			guards, shown = append(guards, n.guard()), append(shown, n.identified())
		}
	}
	shown = append(shown, known.made...)
	t := tree{}
	for _, nodes := range [][]node{guards, shown, pods} {
		slices.SortFunc(nodes, node.compare)
		t.Nodes = append(t.Nodes, nodes...)
	}
	data, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings always encode
	}
	return data
}

// pod returns whether the node is a Pod. With a UID, argocd-server would show the logs of the hub's Pod.
func (n node) pod() bool { return n.Group == "" && n.Kind == "Pod" }

// guard returns the node that argocd-server finds for a resource. argocd-server refuses the node, because the node has
// no UID.
func (n node) guard() node {
	n.Health, n.ParentRefs = nil, []parent{{UID: nobody}}
	return n
}

// identified returns the node with a UID, for the CLI's tree. Argo CD's UI gives a node without a UID the same key as
// this UID, and therefore draws a resource once.
func (n node) identified() node {
	n.Version += elsewhere
	return n.found()
}

// found returns a node that argocd-server accepts for requests about the resource.
func (n node) found() node {
	n.UID = strings.Join([]string{n.Group, n.Kind, n.Namespace, n.Name}, "/")
	return n
}

func (n node) compare(o node) int {
	return cmp.Or(cmp.Compare(n.Group, o.Group), cmp.Compare(n.Kind, o.Kind),
		cmp.Compare(n.Namespace, o.Namespace), cmp.Compare(n.Name, o.Name))
}

// Compress returns the data as gzip, for example an entry for a compressed key.
func Compress(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err = cmp.Or(err, w.Close()); err != nil {
		panic(err) // a buffer accepts all writes
	}
	return out.Bytes()
}
