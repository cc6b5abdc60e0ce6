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

// State is the content of all objects of a point, by place and name, without the parts that differ between runs.
type State map[string]string

// state reads the present state of a point.
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

// planes returns the clusters, sorted by name.
func (w *World) planes() []*plane {
	var out []*plane
	for _, name := range slices.Sorted(maps.Keys(w.clusters)) {
		out = append(out, w.clusters[name])
	}
	return out
}

// othersStatus are the kinds whose status is internal to Open Cluster Management.
var othersStatus = map[schema.GroupVersionKind]bool{works: true, placements: true}

// describe returns the content of an object without the parts that differ between runs. For a remembered object, the
// content says whether the object is still the same.
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

// anywhere removes the address of the fleet's repository from a text, because other fleets use the recorded ends too.
// The work of a Secret contains the address in base64.
func anywhere(text, url string) string {
	return strings.NewReplacer(url, "REPOSITORY", base64.StdEncoding.EncodeToString([]byte(url)), "REPOSITORY").Replace(text)
}

// answered reports whether the agent has answered the present generation of a work.
func answered(w *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(w.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == workv1.WorkApplied {
			return c["observedGeneration"] == w.GetGeneration()
		}
	}
	return false
}

// atRest reports whether all works are answered, and no object is being deleted.
func (s State) atRest() bool {
	for _, said := range s {
		if strings.Contains(said, `"answered": false`) || strings.Contains(said, `"going": true`) {
			return false
		}
	}
	return true
}

// sorted sorts the conditions by their types, and removes an empty list of conditions.
func sorted(content map[string]any) map[string]any {
	status, ok := content["status"].(map[string]any)
	conditions, is := status["conditions"].([]any)
	if !ok || !is {
		return content
	}
	status = maps.Clone(status)
	content["status"] = status
	if len(conditions) == 0 { // an empty list equals a missing list
		delete(status, "conditions")
		return content
	}
	status["conditions"] = slices.SortedFunc(slices.Values(conditions), func(a, b any) int {
		return strings.Compare(fmt.Sprint(a.(map[string]any)["type"]), fmt.Sprint(b.(map[string]any)["type"]))
	})
	return content
}

// differing are texts that differ between two runs of a flow.
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
	// The first write of a work after its apply switches to force, and Towline makes no write for the switch alone. An
	// additional write is therefore visible in this field. The effect of force is visible on the cluster.
	{regexp.MustCompile(`"(Force)?Apply"`), `"APPLY"`},
	{regexp.MustCompile(`"force": (true|false)`), `"force": EITHER`},
	// A single work of a namespace asks for the watch, and this may be any work. A work asks for details for ten
	// minutes after a condition, which may exist only during a fault.
	{regexp.MustCompile(`"feedbackScrapeType": "(Poll|Watch)"`), `"feedbackScrapeType": EITHER`},
	{regexp.MustCompile(`(?s),\s*\{\s*"jsonPaths": \[\s*\{\s*"name": "degradedKind".*?"type": "JSONPaths"\s*\}`), ""},
	// The time at which an agent notices an abandoned object is internal to the agent.
	{regexp.MustCompile(`,\s*"evictionStartTime": "[^"]*"`), ""},
}

// plain removes the parts of a text that differ between runs.
func plain(text, id string) string {
	text = strings.ReplaceAll(text, id, "POINT")
	text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString([]byte(id)), "POINT") // in the work of a Secret
	for _, d := range differing {
		text = d.is.ReplaceAllString(text, d.as)
	}
	return text
}

// diff describes how a second state differs from s. The result is empty for equal states.
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

// lines returns the lines that only one of two texts contains.
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
