// Package report holds the content of a MulticlusterApplicationSetReport: a row for every Application of an
// ApplicationSet, the resources of all Applications, and the counts.
//
// A Set holds one ApplicationSet. The cost of a Put depends on the entry, not on the size of the set: counts change by
// difference, and rows stay in order. Build turns the set into a report within the size limit. The report counts the
// omitted rows, and rows that need attention are omitted last. Equal sets give equal reports, byte for byte, for any
// order of insertion.
//
// The package is pure: no client, no clock. The aggregation controller fills sets and writes reports.
package report
