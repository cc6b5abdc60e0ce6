// Package contract holds what Towline decides and writes against the functions and types of Argo CD 3, side by side in one
// program, with random input. The tests of ../programs/argocd and ../programs/argocd3 hold fixed cases against both versions
// of Argo CD; they do without Towline's code, which needs newer libraries than the older Argo CD has.
package contract
