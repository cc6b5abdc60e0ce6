package search

import (
	"encoding/json"
	"fmt"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Key identifies an Application on its cluster.
type Key struct {
	Cluster, Namespace, Name string
}

// Application is search's knowledge of one Application.
type Application struct {
	// Resources are the resources of the Application, sorted, including missing resources. Search does not know the
	// sync status and the health of present resources.
	Resources []argocd.ResourceStatus

	// Conditions are all conditions from the cluster's Argo CD, by type.
	Conditions []argocd.Condition

	// Omitted is the number of dropped resources.
	Omitted int
}

// Answer is the answer about one page of clusters.
type Answer struct {
	// Applications are the wanted Applications that search knows. A new Application may be missing.
	Applications map[Key]*Application

	// Rejected is the number of dropped invalid items, groups and values.
	Rejected int
}

// envelope is an answer in GraphQL. Items stay raw, to let an invalid item fail alone.
type envelope struct {
	Data *struct {
		SearchResult []*result `json:"searchResult"`
	} `json:"data"`
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"`
}

type result struct {
	Count   *int              `json:"count"`
	Items   []json.RawMessage `json:"items"`
	Related []json.RawMessage `json:"related"`
}

// group has the related items of one kind.
type group struct {
	Kind  string            `json:"kind"`
	Count *int              `json:"count"`
	Items []json.RawMessage `json:"items"`
}

// parse reads the answer to a question about the wanted Applications. parse fails for an incomplete answer, because an
// incomplete list would look like a shorter list.
func parse(data []byte, wanted []Key) (*Answer, *Error) {
	var e envelope
	err := json.Unmarshal(data, &e)
	switch {
	case err != nil:
		return nil, newError(Invalid, "the answer does not fit the schema: "+err.Error())
	case len(e.Errors) > 0:
		return nil, newError(Failed, fmt.Sprintf("the service reports %d errors, the first is: %s", len(e.Errors), e.Errors[0].Message))
	case e.Data == nil || len(e.Data.SearchResult) != 1 || e.Data.SearchResult[0] == nil:
		return nil, newError(Invalid, "the answer has no search result")
	}
	r := e.Data.SearchResult[0]
	if cut(r.Count, r.Items) {
		return nil, newError(Invalid, fmt.Sprintf("the answer has %d of %d Applications", len(r.Items), *r.Count))
	}
	p := newParser(wanted)
	for _, raw := range r.Items {
		p.application(raw)
	}
	for _, raw := range r.Related {
		var g group
		if json.Unmarshal(raw, &g) != nil || cut(g.Count, g.Items) {
			return nil, newError(Invalid, "a group of related items is not whole")
		}
		p.group(&g)
	}
	return p.answer(), nil
}

// cut returns whether a list is shorter than the service reports.
func cut(count *int, items []json.RawMessage) bool { return count != nil && *count > len(items) }
