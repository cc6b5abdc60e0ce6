// Package appreport has both ends of an ApplicationReport: Build makes a report of an Application on the agent's
// cluster, and Read returns the trustworthy content of a report on the hub.
//
// The managed cluster is not trusted. Both ends validate the type, the length, the characters and the known values of
// every field. The agent does so for acceptance of its reports, and the hub because the agent may be a foreign program.
// An invalid value is dropped and affects no further value. Both ends keep a report within its size, and drop the same
// parts in the same order every time.
//
// Of live resources outside Git, Tree accepts only descendants of resources in Git.
//
// The package is pure. pkg/agent builds reports, and controllers/resourcesync reads the reports.
package appreport
