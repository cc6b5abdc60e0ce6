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

// version is that of the objects in Argo CD's cache (common.CacheVersion): part of every key.
const version = "1.8.3"

// Key is where Argo CD looks for the tree of an Application. home is the namespace of Argo CD itself: an Application
// there goes by its name alone. Compressed entries have keys of their own.
func Key(app types.NamespacedName, home string, compressed bool) string {
	return shardKey(app, home, compressed, "")
}

// ShardKey is where Argo CD keeps a further part of the tree of an Application, from 1 on.
func ShardKey(app types.NamespacedName, home string, compressed bool, shard int) string {
	return shardKey(app, home, compressed, "|"+strconv.Itoa(shard))
}

func shardKey(app types.NamespacedName, home string, compressed bool, shard string) string {
	key := "app|resources-tree|" + instance(app, home) + shard + "|" + version
	if compressed {
		key += ".gz"
	}
	return key
}

// Channel is where argocd-server hears that the tree of an Application has changed.
func Channel(app types.NamespacedName, home string) string {
	return channelBegins + instance(app, home) + channelEnds
}

// Channels are those of all Applications of an Argo CD, as a pattern of Redis.
const Channels = channelBegins + "*" + channelEnds

const channelBegins, channelEnds = "app|managed-resources|", "|" + version

// OfChannel is the Application of a channel.
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

// tree is Argo CD's ApplicationTree, as far as it is known here.
type tree struct {
	Nodes []node `json:"nodes,omitempty"`

	// ShardsCount is how many entries it takes, of which the first says so. Towline writes one.
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

// parent is the resource that has made one. argocd-server goes by its name, the UI by its UID.
type parent struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid"`
}

const (
	// nobody is the parent of the first node of each resource. No node has this UID, so nothing lists what is below.
	nobody = "none"

	// elsewhere ends the version of nodes with a UID. No API has such a version, as a version cannot have a dot.
	elsewhere = ".on-its-cluster"
)

// Encode is the tree of an Application with those resources, in JSON: the same for the same resources, in whatever
// order they are. Hooks are not among them: they run and are done. live is what Path.Live says: without it, argocd-server
// refuses whatever it is asked about a resource. What the cluster reports of its live resources, as appreport.Tree has it, counts only
// with it.
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

// pod tells of a node of which argocd-server would show the logs of the hub's pod, if it had a UID.
func (n node) pod() bool { return n.Group == "" && n.Kind == "Pod" }

// guard is the node that argocd-server finds when it is asked for a resource, and refuses, as it has no UID.
func (n node) guard() node {
	n.Health, n.ParentRefs = nil, []parent{{UID: nobody}}
	return n
}

// identified is the node with a UID, which the CLI needs for its tree. Argo CD's UI gives a node without a UID the same
// key as this UID, and so draws a resource once.
func (n node) identified() node {
	n.Version += elsewhere
	return n.found()
}

// found is a node that argocd-server goes by when it is asked for a resource.
func (n node) found() node {
	n.UID = strings.Join([]string{n.Group, n.Kind, n.Namespace, n.Name}, "/")
	return n
}

func (n node) compare(o node) int {
	return cmp.Or(cmp.Compare(n.Group, o.Group), cmp.Compare(n.Kind, o.Kind),
		cmp.Compare(n.Namespace, o.Namespace), cmp.Compare(n.Name, o.Name))
}

// Compress is an entry under a compressed key.
func Compress(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err = cmp.Or(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}
