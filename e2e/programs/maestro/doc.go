// Package maestro pins the Maestro that a fleet can run in the hub's place as the keeper of works. It holds two
// programs: server, which is Maestro's own, and source, which gives Maestro works as a controller would.
//
// What Towline's works need of Maestro, and where Maestro differs from the hub's API, is in docs/maestro.md. What that page says
// of Maestro holds for the version that go.mod names.
package maestro
