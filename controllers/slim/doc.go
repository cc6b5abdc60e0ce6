// Package slim makes the objects that the shared cache holds small, as they enter it: a hub has two for every
// Application. What nobody reads is dropped, and what is the same in many objects is held once. No value that a
// controller reads changes.
//
// Objects of the cache are shared already and must not be changed by those who read them; with parts that several
// objects share, this counts twice.
package slim
