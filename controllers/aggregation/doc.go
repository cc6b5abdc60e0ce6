// Package aggregation keeps one MulticlusterApplicationSetReport for every ApplicationSet that has pull Applications:
// the arrow from what is known of each cluster to the one object that people look at.
//
// Events say which Application of which set has changed. A reconcile looks at the changed Applications of one set,
// puts their rows into what is kept of the set, and writes the report if that makes it say something else. Nothing is
// looked at again that has not changed, and the events that come within a window, which grows with the report, make
// one write.
//
// What is kept in memory is a cache. After a restart it is made anew from the Applications, from the inventory, and
// from the report itself: what no source has told of since stays as the report has it. Of reports only metadata is
// watched; the whole is read when it is not known what it says, which is at the start and after somebody else wrote
// it.
//
// It writes reports and nothing else. A report is owned by its ApplicationSet and goes with it. None is made while that is
// not there, also when Applications of it are. It goes as well when the API server, not the cache, says that no Application
// of the set is left. One that somebody keeps in Git, for an Argo CD that counts its health, stays and says so.
package aggregation
