// Package argoredis tells where the Redis of an Argo CD is, and how to be let in, from the objects that Argo CD keeps in
// its namespace: its manifests, its Helm chart and its operator each leave them under known names. It is pure: who reads
// the objects are pkg/argocache, for those who use that Redis, and kubectl towline check.
package argoredis
