// Package argocd pins the fleet's version of Argo CD, and checks Towline against Argo CD's code. The tests decode
// Towline's objects with Argo CD's own types, and compare Towline's names with Argo CD's constants. The tests read the
// golden files of the root module, so the two modules do not depend on each other.
package argocd
