// Package maestrotest is a Maestro in memory, for tests: it keeps what is published by Maestro's rules, and loses, repeats or refuses what
// a test wants it to.
package maestrotest
