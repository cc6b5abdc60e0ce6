package searchtest

import (
	_ "embed"
	"encoding/json"
	"io"
	"log"
	"net/http"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

//go:embed schema.graphql
var schemaText string

var schema = gqlparser.MustLoadSchema(&ast.Source{Name: "schema.graphql", Input: schemaText})

// discard drops net/http's messages about broken connections, because tests break connections on purpose.
var discard = log.New(io.Discard, "", 0)

// ServeHTTP answers like the real service. A request that the real service would refuse fails the test.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	token, interfere, index := s.token, s.interfere, s.index
	s.mu.Unlock()
	if r.Method != http.MethodPost || r.URL.Path != Path || r.URL.RawQuery != "" {
		s.t.Errorf("%s %s is no request of GraphQL", r.Method, r.URL)
	}
	field, inputs, ok := s.understand(r)
	if !ok {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	clusters := valuesOf(inputs, "cluster")
	s.mu.Lock()
	s.asked = append(s.asked, clusters)
	s.mu.Unlock()
	if interfere != nil && interfere(w, r, clusters) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(w, `{"message":"Invalid token"}`, http.StatusForbidden)
		return
	}
	var results []any
	for _, in := range inputs {
		results = append(results, project(field.SelectionSet, find(index, in)))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{field.Alias: results}}) // an error means that the client has gone
}

// understand validates a request against the schema.
func (s *Server) understand(r *http.Request) (*ast.Field, []input, bool) {
	var request struct {
		OperationName, Query string
		Variables            map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		s.t.Errorf("the request is no JSON: %v", err)
		return nil, nil, false
	}
	document, errs := gqlparser.LoadQueryWithRules(schema, request.Query, rules.NewDefaultRules())
	if len(errs) > 0 {
		s.t.Errorf("the query does not fit the schema: %v", errs)
		return nil, nil, false
	}
	operation := document.Operations.ForName(request.OperationName)
	if operation == nil || len(operation.SelectionSet) != 1 {
		s.t.Errorf("there is no operation %q of one field", request.OperationName)
		return nil, nil, false
	}
	variables, err := validator.VariableValues(schema, operation, request.Variables)
	if err != nil {
		s.t.Errorf("the variables do not fit the schema: %v", err)
		return nil, nil, false
	}
	field := operation.SelectionSet[0].(*ast.Field)
	var arguments struct{ Input []input }
	data, _ := json.Marshal(field.ArgumentMap(variables))
	if err := json.Unmarshal(data, &arguments); err != nil {
		s.t.Errorf("the arguments: %v", err)
		return nil, nil, false
	}
	return field, arguments.Input, true
}

// project returns the requested fields of a result, with the aliases of the query.
func project(fields ast.SelectionSet, from map[string]any) map[string]any {
	out := map[string]any{}
	for _, selection := range fields {
		field := selection.(*ast.Field)
		value := from[field.Name]
		if list, ok := value.([]map[string]any); ok && len(field.SelectionSet) > 0 {
			projected := []any{}
			for _, v := range list {
				projected = append(projected, project(field.SelectionSet, v))
			}
			value = projected
		}
		out[field.Alias] = value
	}
	return out
}
