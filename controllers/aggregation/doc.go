// Package aggregation keeps one MulticlusterApplicationSetReport for every ApplicationSet that has Applications for
// pull: the arrow from the sources of each cluster to the one object for users.
//
// Events name the changed Applications of a set. A reconcile reads the changed Applications of one set, updates the
// rows in memory, and writes the report after a change of the content. Unchanged Applications are not read. Events
// within a window cause one write; the window grows with the size of the report.
//
// The memory is a cache. After a restart, the controller builds the memory again from the Applications, from the
// sources, and from the report itself. Rows without a new report from a source stay as in the old report. The watch of
// reports holds metadata only. A report with unknown content is read in full: at the start, and after a write by
// somebody else.
//
// The package writes only reports. The ApplicationSet owns its report. Without the ApplicationSet there is no report,
// even if Applications of the set exist. The report is also deleted when the API server, not the cache, has no
// Application of the set any more. A report in Git, kept for an Argo CD that reads the report's health, stays, and
// shows that the set has no Applications.
package aggregation
