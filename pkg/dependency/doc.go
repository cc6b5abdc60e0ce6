// Package dependency renders what an Application needs on its cluster beside itself: its AppProject, the credentials of
// its repositories, and the Secrets and ConfigMaps that it names. Each travels in a ManifestWork of its own, whose name
// is computed here, and which never overwrites what somebody else has on the cluster.
//
// It is pure: no client, no clock, and nothing that is passed in is changed. No error or message that it makes holds a
// value of a Secret. controllers/dependencies calls it.
package dependency
