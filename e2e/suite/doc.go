// Package suite is the end-to-end suite. It has a real hub, real managed clusters, and Towline as its users install it.
// The specs pass in any order, because each spec uses separate Applications and namespaces.
//
// The suite starts a fleet in a new folder. To try specs on a running fleet, set TOWLINE_E2E_FLEET to the fleet's state
// directory. The suite then starts Towline beside the fleet.
package suite
