// Package aggregation keeps one MulticlusterApplicationSetReport for every ApplicationSet that has Applications for pull: the
// arrow from the sources of each cluster to the one object that people look at.
//
// Events say which Application of which set has changed. A reconcile reads the changed Applications of one set, updates their
// rows in memory, and writes the report if its content changes. It reads nothing that has not changed. Events that arrive within
// a window make one write; the window grows with the size of the report.
//
// The memory is a cache. After a restart it is built again from the Applications, from the sources, and from the report itself:
// what no source has reported since the restart stays as the report has it. The watch of reports holds metadata only. A report is
// read in full if its content is not known: at the start, and after somebody else wrote it.
//
// It writes only reports. The ApplicationSet owns its report. Without the ApplicationSet there is no report, even if there are
// Applications of it. The report is also deleted when the API server, not the cache, says that the set has no Application any
// more. A report that somebody keeps in Git, for an Argo CD that reads its health, stays, and says that there are none.
package aggregation
