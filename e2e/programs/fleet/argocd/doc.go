// Package argocd checks Towline as e2e/programs/argocd does for Argo CD
// 2.14. The tests are the same, except for version_test.go.
package argocd
