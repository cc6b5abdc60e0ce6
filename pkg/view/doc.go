// Package view models a fleet for people: rows of Applications, ApplicationSets with counts and waves, a matrix of sets
// and clusters, clusters, and trees. kubectl towline prints a view as text, and the status page as HTML.
//
// The package has no rules of its own: the state of an Application comes from pkg/why. The package has no client: the
// caller reads the objects, with the rights of its user, and passes on the unreadable facts. All text in a view may
// come from a cluster and is plain text only. The caller must escape the text for its output.
package view
