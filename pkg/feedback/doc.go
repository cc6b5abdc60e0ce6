// Package feedback has both ends of the feedback from a cluster through a ManifestWork. The rules tell the work agent
// the fields to read from the cluster's Application. The parser reads the agent's report.
//
// The managed cluster is not trusted. Each reported value must match the type, the length, the characters and the known
// values of its field. An invalid value counts as not observed and affects no further value.
//
// The package has no client and no clock, and only Bound changes its argument. pkg/work puts the rules into works.
// pkg/work, pkg/delivery, and the controllers status and resourcesync parse the reports.
package feedback
