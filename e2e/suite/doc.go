// Package suite is the end-to-end suite: real hub, real managed clusters, and Towline installed as its users
// install it. Each spec uses Applications and namespaces of its own, so that they pass in any order.
//
// The suite starts a fleet in a folder of its own. To try specs on one that is up already, set TOWLINE_E2E_FLEET to
// its state directory; Towline is then started beside it.
package suite
