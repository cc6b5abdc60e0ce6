// Package work renders a hub Application into a ManifestWork for the managed cluster. The package also computes the
// name of the work, and compares an existing work with the desired work.
//
// The package is pure: no client, no clock, and no change of the arguments. The propagation controller writes works
// with the package. The status controller calls Key to find the work of an Application.
package work
