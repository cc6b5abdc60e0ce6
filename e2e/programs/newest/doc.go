// Package newest pins the newest versions of Kubernetes and Argo CD that Towline supports, for `make e2e NEWEST=1`. The module's
// libraries are too new for Open Cluster Management, and therefore for e2e/programs/fleet.
package newest
