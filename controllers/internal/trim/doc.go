// Package trim reduces the objects of the shared cache as they enter the cache: a hub has two objects for every
// Application. Unused parts are dropped, and parts equal in many objects are held once. No value read by a controller
// changes.
//
// Package trim also keeps clusters from filling the memory of the hub's controllers. Agents write works and
// ManagedClusters, up to 1.5 MB each. The held part of such an object is limited, on the leading replica and on waiting
// replicas.
//
// A reflector may pass an object through a transform twice. At the second pass, parts of the object may be shared with
// other objects. The transform must not write to the shared parts, not even an equal value.
//
// Objects of the cache are shared, and their readers must not change the objects. Because of the parts shared among
// several objects, the rule is doubly important.
package trim
