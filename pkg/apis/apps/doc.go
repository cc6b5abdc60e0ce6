// Package apps is the root of Towline's API group,
// apps.open-cluster-management.io. Each version has a package:
//
//   - v1alpha1: MulticlusterApplicationSetReport and ApplicationReport
//   - v1beta1: GitOpsCluster
//
// MulticlusterApplicationSetReport and GitOpsCluster are older than Towline.
// Objects, dashboards and scripts depend on the fields of both kinds. Every
// object valid under the published schemas stays valid: the tests of the
// package compare the generated CRDs in deploy/crds with the copies in
// testdata/published. New fields are optional.
package apps
