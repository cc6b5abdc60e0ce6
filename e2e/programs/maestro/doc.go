// Package maestro pins the Maestro that a fleet can run in the hub's place as the keeper of works. It holds two
// programs: server, which is Maestro's own, and source, which gives Maestro works as a controller would.
package maestro
