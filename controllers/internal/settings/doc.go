// Package settings reads the settings of users and administrators on the hub: pauses, the annotations of a cluster's
// namespace, the chosen namespaces of Applications, and the tracking label of the hub's Argo CD. A changed setting
// wakes the affected Applications.
package settings
