package faults

import (
	"net/http"
	"regexp"
	"strings"
)

// pointID matches the id of a point in a name.
var pointID = regexp.MustCompile(`pt[0-9a-f]{8}`)

// A request is the proxy's analysis of an HTTP request.
type request struct {
	// verb and resource are the HTTP method and the resource, with the subresource after a slash.
	verb, resource string

	// point is the id of the object's point; empty for no point.
	point string

	// watches is set for a watch. passing is set for events, Leases and dry runs.
	watches, passing bool

	name string
}

// uncounted are resources whose writes only report past actions, or keep a process alive.
var uncounted = map[string]bool{"events": true, "leases": true}

// read analyses a request. The body is necessary for a create.
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

// lease reports whether the request writes the Lease for the leader election of Towline's replicas.
func (r *request) lease() bool {
	return r.resource == "leases" && (r.name == leaseName || r.verb == http.MethodPost)
}

// site returns the kind of a write: the verb and the resource.
func (r *request) site() string { return r.verb + " " + r.resource }
