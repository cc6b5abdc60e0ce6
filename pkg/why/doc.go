// Package why tells how far an Application has come on the path from its ApplicationSet to the resources on its
// cluster. For a blocked link of the path, the package tells the problem, its start, who can solve it, and with which
// command.
//
// The package has no rules of its own. Towline's decisions about an Application are the plan of pkg/delivery; all other
// facts come from objects. The package has no client: kubectl towline and the status page read the objects, with the
// rights of their user.
package why
