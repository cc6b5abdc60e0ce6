// Package resourcesync knows what each cluster really has: the arrow from the sources of facts to whoever shows
// them.
//
// A source tells, for a hub Application, what it knows of that Application on its cluster, and which Applications
// it knows something new of. The inventory asks all sources and puts their facts together part by part: the richest
// source that knows a part counts, and where a poorer one has seen the cluster's Application later, its word counts
// instead. Each part keeps the name of its source.
// The status and aggregation controllers read the inventory and do not know where a fact came from.
//
// Facts live in the sources, which keep no copy of what the shared cache holds already. After a restart a source
// that has not answered yet says nothing, and nothing is blanked.
package resourcesync
