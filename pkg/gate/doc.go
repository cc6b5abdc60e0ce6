// Package gate defines a table of reasons to wait, for the decisions of pkg/dependency and pkg/clusterimport. The rules
// are in the tables. The package also defines the trace of a decision of pkg/delivery: the answers of the gates. All decisions
// compare waits with Sooner.
package gate
