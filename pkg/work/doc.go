// Package work renders a hub Application into the ManifestWork that carries it to its cluster, names that work,
// and tells whether an existing one still says what it should.
//
// It is pure: no client, no clock, and nothing that is passed in is changed. The propagation controller calls it
// to write works; the status controller calls Key to find the work that an Application must have.
package work
