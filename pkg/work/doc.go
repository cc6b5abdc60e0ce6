// Package work renders a hub Application into a ManifestWork for the managed cluster. The package also computes the
// name of the work, and compares an existing work with the desired work.
//
// The package is pure: no client and no clock. A function that returns a work leaves its arguments unchanged. A
// function without a returned work, such as SetUpdateMode, bringBack or Carry, changes the given work. The propagation
// controller writes works with the package. The status controller calls Key to find the work of an Application.
//
// Package payload computes the manifest of the Application. Package feedback has the rules for the agent's report, and
// the parser of the report. A Report reads the whole status of a work, for decisions and for changes of the work. A
// request (type Request) is an operation of a user, or its termination, and temporarily takes the place of the
// Application in a work. A side manifest is a further manifest in the work (older.go).
package work
