// Package dependency renders what an Application needs on its cluster beside itself: its AppProject, the credentials of
// its repositories, and the Secrets and ConfigMaps that it names. Each travels in a ManifestWork of its own, whose name
// is computed here, and which never overwrites what somebody else has on the cluster.
//
// Decide is what becomes of such a work, a pure function from observed facts to a plan, and Gates is the table of all reasons
// to wait.
//
// It is pure: no client, no clock, and nothing that is passed in is changed. No error or message that it makes holds a
// value of a Secret. controllers/dependencies calls it.
package dependency
