// Package migration moves the works of a running fleet from the hub's etcd to Maestro and back, by the steps of docs/maestro.md, and
// looks whether anything on a cluster is deleted or made again. It has tests only.
package migration
