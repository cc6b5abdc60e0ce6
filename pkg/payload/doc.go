// Package payload computes an Application in the form for its cluster, in JSON: the normalized spec with another
// destination, the labels and annotations for the cluster, and the number of fields. The package also changes such a
// manifest, compares manifests, and renders the requests that take the place of the Application. Package work puts the
// manifests into ManifestWorks.
//
// The package is pure: no client and no clock. No function changes its arguments. All fields of the hub's spec, known
// or not, keep their bytes.
package payload
