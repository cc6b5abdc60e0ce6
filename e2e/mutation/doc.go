// Package mutation measures what the tests of a package notice: it changes one decision of the package at a time, and runs
// the tests. A change that no test notices has survived.
//
// All changes of a package are compiled into one test binary, where an environment variable switches one of them on. So a
// change costs a run of the tests, and no compiler. Nothing in the checkout is changed: the compiler reads the changed files
// from elsewhere. Command mutate runs it.
package mutation
