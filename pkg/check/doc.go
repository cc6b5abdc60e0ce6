// Package check tells what is wrong with an installation of Towline, with the hub it is to be installed on, or with a managed
// cluster, and what to do about it.
//
// Each check is a function of facts, and gives lines. What could not be read is unknown, and not wrong. The package has no client:
// kubectl towline check reads the facts, with the rights of whoever asks. What a takeover would do with Applications is
// pkg/delivery's to decide.
package check
