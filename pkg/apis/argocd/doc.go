// Package argocd is a small view of Argo CD's Application and AppProject: typed where Towline looks, raw JSON where it does
// not.
//
// Towline forwards Applications that newer Argo CDs understand better than it does. So the spec, the operation
// and any top-level field that is not known here are kept as the bytes that the API server sent. The status is
// the opposite: only what Towline writes is decoded, which keeps the cache small; it follows that an
// Application must never be written back whole. Writers send merge patches of the fields that are theirs.
//
// +kubebuilder:object:generate=true
// +groupName=argoproj.io
package argocd
