// Package observed holds what is known of an Application on its cluster, and makes one account of those of several sources.
// The sources are in controllers/resourcesync. The hub Application's status and the rows of reports are made of it.
package observed
