// Package argocd pins the Argo CD 3 that the fleet runs, and holds Towline to it as e2e/programs/argocd does to Argo CD
// 2.14. The tests are the same, but for version_test.go.
package argocd
