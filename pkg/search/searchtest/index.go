package searchtest

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Item is the index entry of a resource.
type Item map[string]any

// Application returns an Application on a cluster.
func Application(cluster, namespace, name string) Item {
	return Item{
		"_uid": cluster + "/" + namespace + "-" + name, "cluster": cluster, "kind": "Application", "apigroup": "argoproj.io",
		"apiversion": "v1alpha1", "namespace": namespace, "name": name, "healthStatus": "Healthy", "syncStatus": "Synced",
		"_hubClusterResource": false,
	}
}

// Resource returns a resource of an Application.
func Resource(app Item, group, version, kind, namespace, name string) Item {
	i := Item{
		"_uid": app.text("cluster") + "/" + kind + "-" + name, "cluster": app.text("cluster"), "kind": kind, "apiversion": version,
		"name": name, "_relatedUids": []string{app.text("_uid")},
	}
	if group != "" {
		i["apigroup"] = group
	}
	if namespace != "" {
		i["namespace"] = namespace
	}
	return i
}

// With returns a copy of the item with a changed value.
func (i Item) With(property string, value any) Item {
	out := maps.Clone(i)
	out[property] = value
	return out
}

func (i Item) text(property string) string {
	s, _ := i[property].(string)
	return s
}

func (i Item) related() []string {
	uids, _ := i["_relatedUids"].([]string)
	return uids
}

type input struct {
	Keywords, RelatedKinds []string
	Filters                []struct {
		Property string
		Values   []string
	}
	Limit *int
}

// defaultLimit is the service's number of items for requests without a limit.
const defaultLimit = 10_000

func valuesOf(inputs []input, property string) []string {
	var out []string
	for _, in := range inputs {
		for _, f := range in.Filters {
			if f.Property == property {
				out = append(out, f.Values...)
			}
		}
	}
	return out
}

// find returns the result for one input.
func find(index []Item, in input) map[string]any {
	items, uids := []Item{}, map[string]bool{}
	limit := defaultLimit
	if in.Limit != nil {
		limit = *in.Limit
	}
	for _, i := range index {
		if in.matches(i) && (limit < 0 || len(items) < limit) {
			items = append(items, i)
			uids[i.text("_uid")] = true
		}
	}
	return map[string]any{"items": items, "count": len(items), "related": in.relatedTo(index, uids)}
}

func (in input) relatedTo(index []Item, uids map[string]bool) []map[string]any {
	kinds := map[string][]Item{}
	for _, i := range index {
		named := slices.ContainsFunc(i.related(), func(uid string) bool { return uids[uid] })
		if named && (len(in.RelatedKinds) == 0 || slices.Contains(in.RelatedKinds, i.text("kind"))) {
			kinds[i.text("kind")] = append(kinds[i.text("kind")], i)
		}
	}
	groups := []map[string]any{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		groups = append(groups, map[string]any{"kind": kind, "count": len(kinds[kind]), "items": kinds[kind]})
	}
	return groups
}

// matches returns whether each filter matches one of its values. Kinds match in any case.
func (in input) matches(i Item) bool {
	for _, f := range in.Filters {
		value := i.text(f.Property)
		if !slices.ContainsFunc(f.Values, func(pattern string) bool {
			if f.Property == "kind" {
				pattern, value = strings.ToLower(pattern), strings.ToLower(value)
			}
			ok, _ := path.Match(pattern, value)
			return ok
		}) {
			return false
		}
	}
	return true
}
