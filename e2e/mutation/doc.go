// Package mutation measures what changes the tests of a package detect: it changes one decision of the package at a
// time, and runs the tests. A change that no test detects has survived.
//
// All changes of a package are compiled into one test binary. An environment variable activates one of the changes.
// Therefore a change costs a run of the tests, and no compilation. The checkout stays unchanged: the compiler reads the
// changed files from a separate folder. Command mutate runs the package.
package mutation
