// Package report keeps what a MulticlusterApplicationSetReport says: a row for every Application of an ApplicationSet,
// the resources of all of them, and the counts.
//
// A Set holds one ApplicationSet. Putting an entry into it costs what that entry is, not what the set is: counts are
// kept by difference, rows in order. Build turns the set into the report, which is as large as a report may be and no
// larger; what does not fit is counted, and what needs attention is never what is left out first. The same set gives
// the same report, byte for byte, whatever the order in which it was filled.
//
// It is pure: no client, no clock. The aggregation controller fills sets and writes reports.
package report
