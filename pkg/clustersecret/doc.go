// Package clustersecret renders the Argo CD cluster Secret of a ManagedCluster, tells the owners of a Secret, and
// updates existing Secrets.
//
// The package has no client and no clock, and changes no argument. The controller of GitOpsClusters calls New and
// Update. The resource tree reads only the Place of a Secret. Existing Secrets always come from Trim, so the memory
// holds no foreign credentials: the config is a digest. The result of a comparison with the digest is a patch of the
// real Secret.
package clustersecret
