// Package idkey keeps, in a Secret of the hub, the key by which towline-maestro makes ids of works in Maestro. The command asks for the key
// once, at its start. The package never logs the key, and never makes or deletes the Secret: whoever may make any Secret in Argo CD's
// namespace can give Argo CD a cluster.
package idkey
