package search

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// query asks for Applications and their related resources.
const query = `query mySearch($input: [SearchInput]) {
  searchResult: search(input: $input) { items, related { kind, count, items }, count }
}`

// request is the body of a GraphQL request.
type request struct {
	OperationName string    `json:"operationName"`
	Query         string    `json:"query"`
	Variables     variables `json:"variables"`
}

type variables struct {
	Input []input `json:"input"`
}

type input struct {
	Filters []filter `json:"filters"`
	Limit   int      `json:"limit"`
}

type filter struct {
	Property string   `json:"property"`
	Values   []string `json:"values"`
}

// noLimit asks for all matches. Without a limit, the service silently stops at its own default.
const noLimit = -1

// body returns the request for the Applications of the clusters. In a filter's value, "*" and a leading "!", "<" or ">"
// have a special meaning. Therefore body fails for a name that no cluster can have.
func body(clusters []string) ([]byte, error) {
	for _, c := range clusters {
		if !ValidCluster(c) {
			return nil, fmt.Errorf("%q is no name of a cluster", c)
		}
	}
	return json.Marshal(request{
		OperationName: "mySearch",
		Query:         query,
		Variables: variables{Input: []input{{
			Filters: []filter{
				{Property: "kind", Values: []string{"Application"}},
				{Property: "apigroup", Values: []string{"argoproj.io"}},
				{Property: "cluster", Values: clusters},
			},
			Limit: noLimit,
		}}},
	})
}

// clustersOf returns the clusters of the Applications, sorted.
func clustersOf(wanted []Key) []string {
	clusters := make([]string, len(wanted))
	for i, k := range wanted {
		clusters[i] = k.Cluster
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// ValidCluster returns whether a ManagedCluster can have the name. The client never sends other names to search.
func ValidCluster(name string) bool {
	return len(validation.IsDNS1123Subdomain(name)) == 0
}
