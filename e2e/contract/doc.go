// Package contract compares Towline's decisions and objects with the functions and types of Argo CD 3 in one program,
// with random input. The tests of ../programs/argocd and ../programs/fleet/argocd compare fixed cases with both versions of
// Argo CD. They do not use Towline's code, because Towline needs newer libraries than the older Argo CD.
package contract
