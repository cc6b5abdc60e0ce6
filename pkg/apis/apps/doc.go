// Package apps is the root of Towline's API group,
// apps.open-cluster-management.io. The types are in one package per version:
//
//   - v1alpha1: MulticlusterApplicationSetReport
//   - v1beta1: GitOpsCluster
//
// Both kinds were published before Towline existed, and objects, dashboards
// and scripts depend on their shape. Whatever was valid under the published
// schemas stays valid: the tests of this package hold the generated CRDs in
// deploy/crds against the copies in testdata/published. New fields are
// optional.
package apps
