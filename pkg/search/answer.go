package search

import (
	"encoding/json"
	"fmt"

	"github.com/towline-io/towline/pkg/apis/argocd"
)

// Key is where an Application is on its cluster.
type Key struct {
	Cluster, Namespace, Name string
}

// Application is what search knows of one Application.
type Application struct {
	// Resources are what it consists of, sorted, those that are missing included. Search cannot tell the sync
	// status and the health of those that are there.
	Resources []argocd.ResourceStatus

	// Conditions are all that its cluster's Argo CD shows, by type.
	Conditions []argocd.Condition

	// Omitted is how many resources more there are than are kept.
	Omitted int
}

// Answer is what one page of clusters has.
type Answer struct {
	// Applications are those of the wanted ones that search has. It may not know one yet that exists.
	Applications map[Key]*Application

	// Rejected is how many items, groups and values did not fit and were left out.
	Rejected int
}

// envelope is an answer in GraphQL. Items stay raw, so that one that does not fit fails alone.
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

// group are the related items of one kind.
type group struct {
	Kind  string            `json:"kind"`
	Count *int              `json:"count"`
	Items []json.RawMessage `json:"items"`
}

// parse reads the answer to a question about those Applications. It fails when the answer is not whole: a list that lacks
// something would pass for one that has shrunk.
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

// cut tells whether a list is shorter than the service says.
func cut(count *int, items []json.RawMessage) bool { return count != nil && *count > len(items) }
