// Package maestrotest is a fake Maestro in memory, for tests. The fake stores published bundles by Maestro's rules. A
// test can make the fake lose, repeat or refuse messages.
package maestrotest
