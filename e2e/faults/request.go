package faults

import (
	"net/http"
	"regexp"
	"strings"
)

// pointID is what names carry of a point.
var pointID = regexp.MustCompile(`pt[0-9a-f]{8}`)

// A request is what the proxy reads of one.
type request struct {
	// verb and resource say what is done, the subresource behind a slash.
	verb, resource string

	// point is the id of the point that the object belongs to; empty for none.
	point string

	// watches is set for a watch, and passing for what tells of what was done, keeps a process going, or is only tried.
	watches, passing bool

	name string
}

// uncounted are resources whose writes tell of what was done, or keep a process going.
var uncounted = map[string]bool{"events": true, "leases": true}

// read reads a request, whose body is needed where it creates something.
func read(r *http.Request, body []byte) request {
	resource, name := resourceOf(r.URL.Path)
	out := request{verb: r.Method, resource: resource, name: name, watches: r.URL.Query().Get("watch") != ""}
	switch r.Method {
	case http.MethodPost:
		out.point = string(pointID.Find(body))
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		out.point = pointID.FindString(name)
	}
	plain, _, _ := strings.Cut(resource, "/")
	if uncounted[plain] || r.URL.Query().Get("dryRun") != "" {
		out.point, out.passing = "", true
	}
	return out
}

// resourceOf splits the path of a request to the API server into the resource and the object's name.
func resourceOf(path string) (resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "", ""
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return resource, name
}

// lease tells whether it writes the Lease by which Towline's replicas elect.
func (r *request) lease() bool {
	return r.resource == "leases" && (r.name == leaseName || r.verb == http.MethodPost)
}

// site is where in Towline's way a write is made.
func (r *request) site() string { return r.verb + " " + r.resource }
