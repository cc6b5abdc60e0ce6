// Package why tells how far an Application has come on its way from its ApplicationSet to the resources on its cluster, and what
// stops it: since when, who can change that, and with which command.
//
// It has no rules of its own. What Towline does about an Application is the plan of pkg/delivery; the rest are facts of objects.
// It has no client: kubectl towline and the status page read the objects, with the rights of whoever asks.
package why
