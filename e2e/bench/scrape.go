package bench

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/towline-io/towline/e2e/scrape"
)

// families are the metrics of an API server at a time.
type families struct{ scrape.Families }

func labelsOf(m *dto.Metric) map[string]string {
	out := make(map[string]string, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

// counts are numbers of requests, or of bytes, by "<verb> <resource>[/<subresource>]".
type counts map[string]float64

// ofHub are the API groups of Towline's requests. Requests of the API server for its own objects are left out.
var ofHub = []string{
	"argoproj.io", "work.open-cluster-management.io", "cluster.open-cluster-management.io",
	"apps.open-cluster-management.io", "events.k8s.io",
}

// requests returns the requests that the API server has served, without watches. Requests that failed with a conflict,
// because the object had changed after the read, also count under the verb conflict.
func (f families) requests() counts {
	out := counts{}
	for _, m := range f.Families["apiserver_request_total"].GetMetric() {
		l := labelsOf(m)
		if !slices.Contains(ofHub, l["group"]) || l["verb"] == "WATCH" {
			continue
		}
		what := l["resource"]
		if l["subresource"] != "" {
			what += "/" + l["subresource"]
		}
		out[l["verb"]+" "+what] += scrape.Value(m)
		if l["code"] == "409" {
			out[conflict+" "+what] += scrape.Value(m)
		}
	}
	return out
}

// written returns the sizes of all request bodies in bytes.
func (f families) written() counts {
	out := counts{}
	for _, m := range f.Families["apiserver_request_body_size_bytes"].GetMetric() {
		if l := labelsOf(m); slices.Contains(ofHub, l["group"]) {
			out[strings.ToUpper(l["verb"])+" "+l["resource"]] += scrape.Value(m)
		}
	}
	return out
}

// since returns the difference to earlier counts. Counts of a restarted process count from its start.
func (c counts) since(before counts) counts {
	out := counts{}
	for key, n := range c {
		d := n - before[key]
		if d < 0 {
			d = n
		}
		if d != 0 {
			out[key] = d
		}
	}
	return out
}

// add adds the numbers of another map.
func (c counts) add(others counts) {
	for key, n := range others {
		c[key] += n
	}
}

// of returns the sum for a resource and verbs. An empty resource means all resources, and no verbs means all verbs.
func (c counts) of(resource string, verbs ...string) float64 {
	var total float64
	for key, n := range c {
		verb, what, _ := strings.Cut(key, " ")
		if (resource == "" || what == resource) && (len(verbs) == 0 || slices.Contains(verbs, verb)) {
			total += n
		}
	}
	return total
}

// Verbs by their effect.
var (
	writing = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}
	listing = []string{"LIST"}
	reading = []string{"GET"}
)

// conflict is in place of a verb for writes that failed with a conflict.
const conflict = "CONFLICT"
