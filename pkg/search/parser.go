package search

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/feedback"
)

const (
	// maxOfCluster is the maximum number of resources of one cluster in memory during the parsing. So a cluster with
	// millions of invented resources costs no more than the maximum size of an answer.
	maxOfCluster = 50_000

	// maxUIDs is the maximum number of Applications with the same resource.
	maxUIDs = 64

	// maxMissing and maxMissingBytes limit a list of missing resources.
	maxMissing      = 10 * maxResources
	maxMissingBytes = 4 << 20

	conditionPrefix = "_condition"
)

// notListed are kinds outside an Application's resources: objects made by controllers, and objects related by search
// for other reasons.
var notListed = []string{"Pod", "ReplicaSet", "EndpointSlice", "Application", "ApplicationSet", "Cluster"}

// parser builds an answer.
type parser struct {
	clusters map[string]bool
	found    map[Key]*collected
	wanted   map[Key]bool

	// byUID finds an Application by its cluster and its UID in search. Related items refer to an Application by this
	// UID.
	byUID    map[[2]string]*collected
	held     map[string]int
	rejected int
}

// collected is an Application during the parsing. Its items come in any order, and may repeat.
type collected struct {
	resources  map[id]argocd.ResourceStatus
	conditions map[string]string
	omitted    int
}

func newParser(wanted []Key) *parser {
	p := &parser{
		clusters: map[string]bool{}, wanted: map[Key]bool{}, held: map[string]int{},
		found: map[Key]*collected{}, byUID: map[[2]string]*collected{},
	}
	for _, k := range wanted {
		p.clusters[k.Cluster], p.wanted[k] = true, true
	}
	return p
}

// application reads an item. An outdated index may have an Application twice, with an old UID and a new UID.
func (p *parser) application(raw json.RawMessage) {
	i, ok := newItem(raw)
	key := Key{Cluster: i.text("cluster"), Namespace: i.text("namespace"), Name: i.text("name")}
	if !ok || !p.clusters[key.Cluster] {
		p.rejected++
		return
	}
	if !p.wanted[key] {
		return
	}
	app := p.found[key]
	if app == nil {
		app = &collected{resources: map[id]argocd.ResourceStatus{}, conditions: map[string]string{}}
		p.found[key] = app
	}
	if uid := [2]string{key.Cluster, i.text("_uid")}; uid[1] != "" && p.byUID[uid] == nil {
		p.byUID[uid] = app
	}
	p.conditions(app, i)
	p.missing(key.Cluster, app, i)
}

// conditions reads the conditions with Argo CD's types. Of two messages for one type, the alphabetically first counts.
// Therefore the order of items has no effect.
func (p *parser) conditions(app *collected, i item) {
	for name := range i {
		conditionType, ok := strings.CutPrefix(name, conditionPrefix)
		if !ok || conditionType != apis.ConditionOperationError && !slices.Contains(feedback.ConditionTypes, conditionType) {
			continue
		}
		message := feedback.Clean(i.text(name), feedback.MaxMessage)
		if message == "" {
			p.rejected++
			continue
		}
		if known, ok := app.conditions[conditionType]; !ok || message < known {
			app.conditions[conditionType] = message
		}
	}
}

// missing reads the missing resources of an Application.
func (p *parser) missing(cluster string, app *collected, i item) {
	raw := i["_missingResources"]
	if len(raw) > maxMissingBytes {
		p.rejected++
		return
	}
	list := text(raw)
	if list == "" {
		return
	}
	whole := entries(json.RawMessage(list), maxMissing, func(entry json.RawMessage) {
		m, _ := newItem(entry)
		r, ok := m.id()
		switch {
		case !ok:
			p.rejected++
		case listed(r.kind):
			p.keep(cluster, app, r, m.missing())
		}
	})
	if !whole {
		p.rejected++
	}
}

// group reads the related items of one kind.
func (p *parser) group(g *group) {
	for _, raw := range g.Items {
		i, ok := newItem(raw)
		switch {
		case !ok:
			p.rejected++
		case i.text("_ownerUID") == "" && listed(i.text("kind")):
			p.related(i)
		}
	}
}

// related adds an item to its Applications, only on the item's own cluster.
func (p *parser) related(i item) {
	r, ok := i.id()
	cluster := i.text("cluster")
	if !ok || !p.clusters[cluster] {
		p.rejected++
		return
	}
	for _, uid := range i.texts("_relatedUids", maxUIDs) {
		if app := p.byUID[[2]string{cluster, uid}]; app != nil {
			p.keep(cluster, app, r, argocd.ResourceStatus{})
		}
	}
}

// keep stores a resource once. A missing resource stays missing.
func (p *parser) keep(cluster string, app *collected, r id, state argocd.ResourceStatus) {
	if _, known := app.resources[r]; known {
		return
	}
	if p.held[cluster] == maxOfCluster {
		app.omitted++
		return
	}
	p.held[cluster]++
	app.resources[r] = r.with(state)
}

func listed(kind string) bool { return !slices.Contains(notListed, kind) }
