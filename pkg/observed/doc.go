// Package observed holds the facts about an Application on its cluster, and merges the facts of several sources. The
// sources are in controllers/resourcesync. The hub Application's status and the rows of reports come from the merged
// facts.
package observed
