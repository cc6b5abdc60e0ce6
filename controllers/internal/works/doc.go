// Package works makes all writes of the hub's controllers to ManifestWorks.
package works
