// Package feedback is both ends of what comes back from a cluster through a ManifestWork: the rules that tell the
// work agent what to read from the Application there, and the parser of what it reports.
//
// The managed cluster is not trusted. Whatever it reports is held to the type, the length, the characters and the
// known values of its field; a value that does not fit counts as not observed and spoils nothing else.
//
// It is pure. pkg/work puts the rules into works; the status and aggregation controllers parse the reports.
package feedback
