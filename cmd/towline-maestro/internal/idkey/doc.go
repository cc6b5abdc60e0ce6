// Package idkey keeps the key for the ids of works in Maestro in a Secret of the hub. towline-maestro loads the key once,
// at startup. The package never logs the key, and never creates or deletes the Secret: a client with the right to create
// Secrets in Argo CD's namespace can give Argo CD a cluster.
package idkey
