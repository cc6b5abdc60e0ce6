// Package migration moves the works of a running fleet from the hub's etcd to Maestro and back, by the steps of
// docs/maestro.md. It checks that no object on a cluster is deleted or recreated. The package contains only tests.
package migration
