// Package maestro pins the Maestro that can store the works in place of the hub. The package holds two programs: server
// is Maestro's own server, and source gives works to Maestro as a controller would.
//
// docs/maestro.md describes what Towline's works need from Maestro, and the differences to the hub's API. The page
// applies to the version of Maestro in go.mod.
package maestro
