// Package argoredis finds the Redis of an Argo CD and the credentials, from the objects in the namespace of Argo CD.
// The manifests, the Helm chart and the operator of Argo CD create the objects under known names. The package is
// pure: the callers read the objects. The callers are pkg/argocache, for users of the Redis, and kubectl towline
// check.
package argoredis
