// Package clustersecret renders the Argo CD cluster Secret of a ManagedCluster, tells whose a Secret is, and what an
// existing one has to become.
//
// It is pure: no client, no clock, and nothing that is passed in is changed. The controller of GitOpsClusters calls it.
// An existing Secret is always one that Trim has been at, so that no credentials of others are kept in memory: its
// config is a digest, and what a comparison with it yields is a patch of the real one.
package clustersecret
