package faults

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
)

// A Point is a flow with its faults.
type Point struct {
	Flow string

	// Faults are the faults of writes, in the order of the writes.
	Faults []Fault

	// Watch and Resource are the fault of a resource's watches; empty for no fault.
	Watch    WatchKind
	Resource string
}

// A Fault is the fault of the n-th write of a flow; the first write is 1.
type Fault struct {
	Kind Kind
	N    int
}

// String returns the point's name for ParsePoint: flow/kind/n, flow/kind+kind/n+n, or flow/watch-kind/resource.
func (p *Point) String() string {
	if p.Watch != "" {
		return p.Flow + "/" + string(p.Watch) + "/" + p.Resource
	}
	var kinds, numbers []string
	for _, f := range p.Faults {
		kinds, numbers = append(kinds, string(f.Kind)), append(numbers, strconv.Itoa(f.N))
	}
	return p.Flow + "/" + strings.Join(kinds, "+") + "/" + strings.Join(numbers, "+")
}

// ParsePoint parses a point's name.
func ParsePoint(name string) (*Point, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("point %q is not of the form flow/kind/n", name)
	}
	if slices.Contains(WatchKinds, WatchKind(parts[1])) {
		if !slices.Contains(WatchedResources, parts[2]) {
			return nil, fmt.Errorf("point %q: watches of %s meet no faults, only those of %v", name, parts[2], WatchedResources)
		}
		return &Point{Flow: parts[0], Watch: WatchKind(parts[1]), Resource: parts[2]}, nil
	}
	kinds, numbers := strings.Split(parts[1], "+"), strings.Split(parts[2], "+")
	if len(kinds) != len(numbers) {
		return nil, fmt.Errorf("point %q has %d kinds and %d numbers", name, len(kinds), len(numbers))
	}
	p := &Point{Flow: parts[0]}
	for i, kind := range kinds {
		n, err := strconv.Atoi(numbers[i])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("point %q: %q is no number of a write", name, numbers[i])
		}
		if !slices.Contains(slices.Concat(Kinds, Kills), Kind(kind)) {
			return nil, fmt.Errorf("point %q: there is no kind %q", name, kind)
		}
		p.Faults = append(p.Faults, Fault{Kind(kind), n})
	}
	return p, nil
}

// kills reports whether a fault of the point kills Towline.
func (p *Point) kills() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind.kills() })
}

// id returns the text in the names of a point's objects. attempt distinguishes the runs of a point.
func id(name string, attempt int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", name, attempt))
	return "pt" + hex.EncodeToString(sum[:])[:8]
}

// Singles returns all points with one fault: each write of each flow with each kind, and each flow with each fault of
// watches.
func Singles(writes map[string]int) []Point {
	var out []Point
	for _, flow := range Flows() {
		for n := range writes[flow.Name] {
			for _, kind := range slices.Concat(Kinds, Kills) {
				out = append(out, Point{Flow: flow.Name, Faults: []Fault{{kind, n + 1}}})
			}
		}
		for _, kind := range WatchKinds {
			for _, resource := range WatchedResources {
				if resource == reported && !flow.Agent {
					continue
				}
				out = append(out, Point{Flow: flow.Name, Watch: kind, Resource: resource})
			}
		}
	}
	return out
}

// Pairs returns count random points with two faults of writes, without duplicates. The second fault comes after the
// first: Towline repeats a refused write. A point has at most one kill.
func Pairs(writes map[string]int, count int, random *rand.Rand) []Point {
	var out []Point
	flows := Flows()
	seen := map[string]bool{}
	for tried := 0; len(out) < count && tried < 100*count; tried++ {
		flow := flows[random.Intn(len(flows))].Name
		if writes[flow] == 0 {
			continue
		}
		one, other := random.Intn(writes[flow])+1, random.Intn(writes[flow]+1)+1
		if one == other {
			other++
		}
		p := Point{Flow: flow, Faults: []Fault{
			{Kinds[random.Intn(len(Kinds))], min(one, other)},
			{slices.Concat(Kinds, Kills)[random.Intn(len(Kinds)+len(Kills))], max(one, other)},
		}}
		if !seen[p.String()] {
			seen[p.String()] = true
			out = append(out, p)
		}
	}
	return out
}
