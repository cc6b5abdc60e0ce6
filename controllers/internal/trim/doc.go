// Package trim makes the objects that the shared cache holds small, as they enter it: a hub has two for every
// Application. What nobody reads is dropped, and what is the same in many objects is held once. No value that a
// controller reads changes.
//
// It keeps clusters from filling the memory of the hub's controllers too. Agents write works and ManagedClusters, up to
// 1.5 MB each: what is held of such an object has bounds, on the replica that leads and on those that wait.
//
// A reflector may pass an object through here twice, and what it shares with others by then must not be written to, not
// even with what it says.
//
// Objects of the cache are shared already and must not be changed by those who read them; with parts that several
// objects share, this counts twice.
package trim
