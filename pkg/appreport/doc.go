// Package appreport is both ends of an ApplicationReport: Build makes one of the Application that the agent sees on
// its cluster, and Read takes from one what the hub can believe.
//
// The managed cluster is not trusted. Both ends hold every value to the type, the length, the characters and the
// known values of its field: the agent so that its reports are accepted, the hub because an agent need not be ours.
// A value that does not fit is left out and spoils nothing else. Both keep a report within its size, by leaving out
// the same things in the same order every time.
//
// Of live resources that are not in Git, Tree believes what hangs from those that are.
//
// It is pure. controllers/agent builds reports; controllers/resourcesync reads them.
package appreport
