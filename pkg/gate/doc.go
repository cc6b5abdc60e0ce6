// Package gate is the shape of a table of reasons to wait, which every decision of Towline has (pkg/delivery, pkg/dependency,
// pkg/clusterimport), and of the trace that a decision leaves of the gates that it asked. It has no rules: those are in the tables.
package gate
