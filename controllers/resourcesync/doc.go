// Package resourcesync collects the real state of the clusters' Applications from the sources of facts, for the
// controllers that show the state.
//
// A source returns the known facts of a hub Application on its cluster, and reports the Applications with new facts.
// The inventory asks all sources and combines their facts part by part. For each part, the richest source with the part
// counts. If a poorer source has seen the cluster's Application later, the poorer source counts instead. Each part
// keeps the name of its source. The status and aggregation controllers read the inventory and do not depend on the
// source of a fact.
//
// The sources hold the facts, without a second copy of objects in the shared cache. After a restart, a source without
// an answer returns no facts, and no status is blanked.
package resourcesync
