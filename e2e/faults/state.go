package faults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/towline-io/towline/e2e/fleet"
)

// State is all that is there of a point: what each object says, by its place and name, without what differs from one run to the next.
type State map[string]string

// state reads what is there of a point now.
func (a *actor) state(ctx context.Context) (State, error) {
	out := State{}
	for _, p := range append([]*plane{a.world.hub}, a.world.planes()...) {
		for _, kind := range p.kinds {
			objects, err := p.of(ctx, kind, a.id)
			if err != nil {
				return nil, err
			}
			for i := range objects {
				place := plain(fmt.Sprintf("%s: %s %s/%s", p.name, kind.Kind, objects[i].GetNamespace(), objects[i].GetName()), a.id)
				out[place] = a.describe(p, &objects[i])
			}
		}
	}
	for name, argo := range a.world.argo {
		if n := argo.operations(a.id); n > 0 {
			out[name+": operations"] = fmt.Sprint(n)
		}
	}
	return out, nil
}

// planes are the clusters, by name.
func (w *World) planes() []*plane {
	var out []*plane
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		out = append(out, w.clusters[name])
	}
	return out
}

// othersStatus are the kinds whose status Open Cluster Management writes, for itself.
var othersStatus = map[schema.GroupVersionKind]bool{works: true, placements: true}

// describe is an object as far as each run of a flow has it alike. What was remembered on a cluster is the same still, or another.
func (a *actor) describe(p *plane, o *unstructured.Unstructured) string {
	content := map[string]any{"kept": "not remembered"}
	if uid, ok := a.remembered[place(p, o)]; ok {
		content["kept"] = uid == o.GetUID()
	}
	for key, value := range o.Object {
		if key != "metadata" && (key != "status" || !othersStatus[o.GroupVersionKind()]) {
			content[key] = value
		}
	}
	if o.GroupVersionKind() == works {
		content["answered"] = answered(o)
	}
	if o.GroupVersionKind() == secrets {
		content["data"] = data(o)
	}
	content["labels"], content["annotations"], content["finalizers"] = o.GetLabels(), o.GetAnnotations(), slices.Sorted(slices.Values(o.GetFinalizers()))
	content["owners"], content["going"] = len(o.GetOwnerReferences()), o.GetDeletionTimestamp() != nil
	data, err := json.MarshalIndent(sorted(content), "", " ")
	if err != nil {
		return err.Error()
	}
	return plain(anywhere(string(data), a.world.Fleet.Git.URL(fleet.AppsRepo)), a.id)
}

// anywhere is a text without the address of the fleet's repository: how a flow ends is kept for other fleets. In the work of a Secret the
// address is encoded.
func anywhere(text, url string) string {
	return strings.NewReplacer(url, "REPOSITORY", base64.StdEncoding.EncodeToString([]byte(url)), "REPOSITORY").Replace(text)
}

// answered tells whether its agent has said what became of a work as it is now.
func answered(w *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(w.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == workv1.WorkApplied {
			return c["observedGeneration"] == w.GetGeneration()
		}
	}
	return false
}

// atRest tells whether no cluster has anything left to say, and nothing is on its way out.
func (s State) atRest() bool {
	for _, said := range s {
		if strings.Contains(said, `"answered": false`) || strings.Contains(said, `"going": true`) {
			return false
		}
	}
	return true
}

// sorted has conditions in the order of their types, and none where there are none.
func sorted(content map[string]any) map[string]any {
	status, ok := content["status"].(map[string]any)
	conditions, is := status["conditions"].([]any)
	if !ok || !is {
		return content
	}
	status = maps.Clone(status)
	content["status"] = status
	if len(conditions) == 0 { // whether there has ever been one does not count
		delete(status, "conditions")
		return content
	}
	status["conditions"] = slices.SortedFunc(slices.Values(conditions), func(a, b any) int {
		return strings.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
	})
	return content
}

// differing are texts that differ from one run of a flow to the next.
var differing = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`POINT-[0-9a-f]{5}\b`), "POINT-HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{12,64}\b`), "HASH"},
	{regexp.MustCompile(`("resourceVersion\\*": *\\*"?|version=|version )\d+`), "${1}VERSION"},
	{regexp.MustCompile(`\b1[78]\d{8}\b`), "SECOND"},
	// The first write of a work after its cluster has applied it is one with force, and nothing is written for that alone: so a write
	// more or less is seen here. What force comes to is seen on the cluster.
	{regexp.MustCompile(`"(Force)?Apply"`), `"APPLY"`},
	{regexp.MustCompile(`"force": (true|false)`), `"force": EITHER`},
	// When an agent sees that what it has applied is of no work any more is its own matter.
	{regexp.MustCompile(`,\s*"evictionStartTime": "[^"]*"`), ""},
}

// plain is a text without what differs from one run to the next.
func plain(text, id string) string {
	text = strings.ReplaceAll(text, id, "POINT")
	text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString([]byte(id)), "POINT") // in the work of a Secret
	for _, d := range differing {
		text = d.is.ReplaceAllString(text, d.as)
	}
	return text
}

// diff tells in what another state differs from this one; empty where they are the same.
func (s State) diff(other State) string {
	var b strings.Builder
	all := maps.Clone(s)
	maps.Copy(all, other)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		want, was := s[key]
		got, is := other[key]
		switch {
		case was && !is:
			fmt.Fprintf(&b, "%s is missing\n", key)
		case !was && is:
			fmt.Fprintf(&b, "%s should not be there:\n%s\n", key, got)
		case want != got:
			fmt.Fprintf(&b, "%s:\n%s", key, lines(want, got))
		}
	}
	return b.String()
}

// lines are those of two texts that only one has.
func lines(want, got string) string {
	var b strings.Builder
	wanted, found := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range wanted {
		if !slices.Contains(found, line) {
			fmt.Fprintf(&b, "  - %s\n", line)
		}
	}
	for _, line := range found {
		if !slices.Contains(wanted, line) {
			fmt.Fprintf(&b, "  + %s\n", line)
		}
	}
	if b.Len() == 0 {
		return "  the same lines in another order\n"
	}
	return b.String()
}
