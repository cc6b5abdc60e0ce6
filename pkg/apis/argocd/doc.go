// Package argocd is a small view of Argo CD's Application and AppProject: Go types for the parts that Towline reads,
// raw JSON for the rest.
//
// Towline forwards Applications with fields of newer Argo CDs. Therefore the package keeps the spec, the operation and
// unknown top-level fields as the bytes from the API server. The status is the opposite: the package decodes only the
// fields that Towline writes, to keep the cache small. Therefore a caller must never write back a whole Application.
// Writers send merge patches of their own fields.
//
// +kubebuilder:object:generate=true
// +groupName=argoproj.io
package argocd
