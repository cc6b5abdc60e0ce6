// Package view is what people are shown of a fleet: rows of Applications, ApplicationSets with their counts and waves, a matrix of
// sets and clusters, clusters, and trees. kubectl towline prints it as text, and the status page as HTML.
//
// It has no rules of its own: how an Application stands is what pkg/why says of it. It has no client: who calls it reads the
// objects, with the rights of whoever asks, and tells what could not be read. All text in a view may come from a cluster, and is
// only ever text: who shows it makes it fit for where it is shown.
package view
